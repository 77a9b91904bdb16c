// Every layout through random histories: whatever happened to the timekeeper, each clock read from
// the page is the system call's answer, to the nanosecond, because the simulated counter stands
// still in between.
//
// Guards: offsets of a row, the choice of block, arithmetic at every delta, namespaces, mode
// switches, stale fields.
#include <array>
#include <cstdint>
#include <string>

#include "test/support/catch.h"
#include "test/support/fake_kernel.h"
#include "test/support/random.h"
#include "test/support/sim_counter.h"

namespace vvarclock::test {
namespace {

constexpr std::array<arch::ClockMode, 3> kCountingModes{arch::kModeTsc, arch::kModePvclock,
                                                        arch::kModeHvclock};
constexpr int kEvents = 4000;

// A virtual machine was paused: for hours, or for just so long that delta * mult leaves 64 bits and
// what is left of it looks like a moment.
std::uint64_t some_pause_ns(const FakeKernel& kernel, Random& random) {
  const std::uint64_t wraps_after = std::uint64_t{1} << (64 - kernel.state().times.shift);
  return random.below(2) == 0 ? random.below(10'000'000'000'000)
                              : wraps_after + random.below(1'000'000'000);
}

std::uint64_t some_wait_ns(const FakeKernel& kernel, Random& random) {
  switch (random.below(6)) {
    case 0:
      return random.below(1000);
    case 1:
      return random.below(50'000'000);
    case 2:
      return random.below(20'000'000'000);
    case 3:
      return random.below(20) == 0 ? some_pause_ns(kernel, random) : 0;
    default:
      return random.below(5'000'000);
  }
}

TimensOffset some_offset(Random& random) {
  const auto nsec = static_cast<std::int64_t>(random.below(1'000'000'000));
  // Not further back than the clocks are: the kernel refuses what would make a clock negative.
  return {
      static_cast<std::int64_t>(random.below(random.below(2) == 0 ? 1000 : 9'000'000'000)) - 900,
      nsec};
}

// What a machine without a change of its clock source lives through.
void some_event(FakeKernel& kernel, Random& random) {
  switch (random.below(12)) {
    case 0:
      return kernel.slew(static_cast<std::int32_t>(random.below(1001)) - 500);
    case 1:
      return kernel.slew(static_cast<std::int32_t>(random.below(200'001)) - 100'000);
    case 2:
      return kernel.step(static_cast<std::int64_t>(random.below(20'000'000'000)) - 10'000'000'000);
    case 3:
      return kernel.set_tai_offset(static_cast<std::int64_t>(random.below(60)));
    case 4:
      return kernel.sleep(static_cast<std::int64_t>(random.below(100'000'000'000)));
    case 5:
      return kernel.insert_leap_second_at(kernel.state().times.sec + random.below(5));
    case 6:
      return kernel.update_hypervisor(static_cast<std::int32_t>(random.below(401)) - 200,
                                      random.below(4) != 0);
    case 7:
      if (kernel.layout().timens == vvar::kNoPage) {
        return;
      }
      return kernel.state().in_timens
                 ? kernel.leave_timens()
                 : kernel.enter_timens({some_offset(random), some_offset(random)});
    default:
      return kernel.tick();
  }
}

bool page_can_answer(const FakeKernel& kernel, vvar::ClockId id) {
  const arch::ClockMode mode = kernel.state().times.source.mode;
  if (!vvar::is_in(id, vvar::block_layout(kernel.layout().block).ids)) {
    return false;
  }
  const bool pvclock_answers =
      kernel.layout().pvclock != vvar::kNoPage && kernel.state().hypervisor.stable;
  return vvar::is_in(id, vvar::kCoarseIds) ||
         (mode != arch::kModeNone && (mode != arch::kModePvclock || pvclock_answers));
}

// The hot path's one attempt, with any block.
arch::Attempt read_once(const FakeKernel& kernel, vvar::ClockId id, vvar::SecNsec& time) {
  const vvar::Binding binding = kernel.binding();
  return vvar::with_block(kernel.layout().block, [&]<const vvar::BlockLayout & B>() {
    return vvar::read_clock_once<B, SimCounter>(binding.data, binding.counters, id, time);
  });
}

// Empty when the reading is right, else what is wrong with it.
std::string judge(const FakeKernel& kernel, vvar::ClockId id) {
  vvar::SecNsec own{};
  vvar::SecNsec hot{};
  const bool served =
      discover::read_clock_of_kind<SimCounter>(kernel.layout().block, kernel.binding(), id, own);
  if (served != page_can_answer(kernel, id)) {
    return served ? "answered where the kernel must be asked" : "not answered";
  }
  if (read_once(kernel, id, hot) == arch::Attempt::kDone &&
      (hot.sec != own.sec || hot.nsec != own.nsec)) {
    return "the hot path reads otherwise";
  }
  arch::Timespec64 asked{};
  kernel.clock_gettime(static_cast<clockid_t>(id), &asked);
  if (served && (own.sec != static_cast<std::uint64_t>(asked.tv_sec) ||
                 own.nsec != static_cast<std::uint64_t>(asked.tv_nsec))) {
    return "read " + std::to_string(own.sec) + "." + std::to_string(own.nsec) + ", kernel says " +
           std::to_string(asked.tv_sec) + "." + std::to_string(asked.tv_nsec);
  }
  return {};
}

void check_all_clocks(const FakeKernel& kernel) {
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    if (const std::string wrong = judge(kernel, clock.id); !wrong.empty()) {
      FAIL(clock.name << ": " << wrong);
    }
  }
}

}  // namespace

TEST_CASE("every layout and counting mode reads as the kernel answers, through any history",
          "[history]") {
  Random random;
  CAPTURE(random.seed());
  for (const vvar::Layout& layout : vvar::kLayouts) {
    for (const arch::ClockMode mode : kCountingModes) {
      if (!has_mode(layout, mode)) {
        continue;
      }
      CAPTURE(layout.name, arch::clock_mode_name(mode));
      const std::uint64_t hz = 1000 * (500'000 + random.below(5'000'000));
      CAPTURE(hz);
      FakeKernel kernel(layout,
                        {.tsc_hz = hz, .mode = mode, .zero_timens_page = random.below(2) == 0});
      for (int i = 0; i < kEvents; ++i) {
        some_event(kernel, random);
        kernel.advance_ns(some_wait_ns(kernel, random));
        check_all_clocks(kernel);
      }
    }
  }
}

TEST_CASE("every layout follows the clock source through every mode", "[history]") {
  Random random;
  CAPTURE(random.seed());
  for (const vvar::Layout& layout : vvar::kLayouts) {
    CAPTURE(layout.name);
    FakeKernel kernel(layout);
    for (int i = 0; i < 3 * kEvents; ++i) {
      if (random.below(3) == 0) {
        kernel.use_source_or_none(static_cast<arch::ClockMode>(random.below(4)));
      } else {
        some_event(kernel, random);
      }
      check_all_clocks(kernel);
      kernel.advance_ns(some_wait_ns(kernel, random));
      check_all_clocks(kernel);
    }
  }
}

namespace {

// Reads one clock between two system calls while time passes; true when it lies between them.
bool is_bracketed(const FakeKernel& kernel, vvar::ClockId id) {
  arch::Timespec64 before{};
  arch::Timespec64 after{};
  vvar::SecNsec own{};
  kernel.table().clock_gettime(static_cast<clockid_t>(id), &before);
  if (!kernel.table().read_clock(kernel.layout().block, kernel.binding(), id, own)) {
    return !page_can_answer(kernel, id);
  }
  kernel.table().clock_gettime(static_cast<clockid_t>(id), &after);
  const Int128 value = Int128{own.sec} * kSecond + own.nsec;
  return value >= Int128{before.tv_sec} * kSecond + before.tv_nsec &&
         value <= Int128{after.tv_sec} * kSecond + after.tv_nsec;
}

// In the middle of a read the clock source becomes another, or NTP steers.
void some_interrupt(FakeKernel& kernel) {
  static Random random;
  if (random.below(2) == 0) {
    kernel.use_source_or_none(static_cast<arch::ClockMode>(random.below(4)));
  } else {
    kernel.tick();
  }
}

}  // namespace

TEST_CASE("ticks and other clock sources arrive in the middle of a read: it stays in its bracket",
          "[history]") {
  Random random;
  CAPTURE(random.seed());
  for (const vvar::Layout& layout : vvar::kLayouts) {
    for (const auto interrupt : {static_cast<void (*)(FakeKernel&)>(nullptr), &some_interrupt}) {
      CAPTURE(layout.name, interrupt == nullptr);
      FakeKernel kernel(layout, {.ticking = true, .interrupt = interrupt});
      SimCounter::step = 1'500'000;  // an interrupt every few reads
      int outside = 0;
      for (int i = 0; i < kEvents; ++i) {
        outside += !is_bracketed(
            kernel, vvar::kServedClocks[random.index_below(vvar::kServedClocks.size())].id);
      }
      CHECK(outside == 0);
    }
  }
}

}  // namespace vvarclock::test
