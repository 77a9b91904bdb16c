// The simulated kernel against values worked out by hand: whatever it gets wrong, every test built
// on it gets wrong.
#include "test/support/fake_kernel.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "arch/load.h"
#include "core/vvar/mult_rule.h"
#include "test/support/catch.h"
#include "test/support/fake_answer.h"
#include "test/support/sim_counter.h"

namespace vvarclock::test {
namespace {

using arch::load;

constexpr const vvar::Layout& kNewest = vvar::kLayouts[0];
constexpr std::uint64_t kGiga = 1'000'000'000;

}  // namespace

TEST_CASE("mult and shift are the kernel's choice for the frequencies known", "[fake_kernel]") {
  struct Known {
    std::uint64_t hz;
    std::uint32_t mult;
    std::uint32_t shift;
  };
  // Seen on machines: pvclock and 1 GHz, Hyper-V, TSCs, and other architectures' counters, which
  // follow the same rule.
  constexpr std::array<Known, 14> kKnown{{{1'000'000'000, 8388608, 23},
                                          {10'000'000, 1677721600, 24},
                                          {2'000'000'000, 4194304, 23},
                                          {2'600'000'000, 6452775, 24},
                                          {3'000'000'000, 5592405, 24},
                                          {3'600'000'000, 4660338, 24},
                                          {4'000'000'000, 2097152, 23},
                                          {5'000'000'000, 3355443, 24},
                                          {24'000'000, 699050667, 24},
                                          {25'000'000, 671088640, 24},
                                          {50'000'000, 335544320, 24},
                                          {62'500'000, 134217728, 23},
                                          {100'000'000, 167772160, 24},
                                          {512'000'000, 32768000, 24}}};
  for (const Known& known : kKnown) {
    CAPTURE(known.hz);
    CHECK(expected_rate(known.hz).mult == known.mult);
    CHECK(expected_rate(known.hz).shift == known.shift);
    if (known.hz % 1000 == 0) {
      // The library's own form of the rule, written independently.
      const auto own = vvar::expected_mult_shift(static_cast<std::uint32_t>(known.hz / 1000));
      CHECK(own.mult == known.mult);
      CHECK(own.shift == known.shift);
    }
  }
  CHECK(expected_max_cycles(8388608) == 1981102219259);
  CHECK(vvar::expected_max_cycles(8388608) == 1981102219259);
}

TEST_CASE("the reference answers as worked out by hand", "[fake_kernel]") {
  FakeKernel kernel(kNewest, one_gigahertz());
  CHECK(ask(kernel, vvar::kRealtime) == Time{1'790'000'000, 123'456'789});
  CHECK(ask(kernel, vvar::kMonotonic) == Time{1001, 111'111'110});
  CHECK(ask(kernel, vvar::kMonotonicRaw) == Time{1000, 7'654'321});

  kernel.advance_ns(1'500'000'001);
  CHECK(ask(kernel, vvar::kRealtime) == Time{1'790'000'001, 623'456'790});
  CHECK(ask(kernel, vvar::kTai) == Time{1'790'000'038, 623'456'790});
  CHECK(ask(kernel, vvar::kMonotonic) == Time{1002, 611'111'111});
  CHECK(ask(kernel, vvar::kBoottime) == Time{1002, 611'111'111});
  CHECK(ask(kernel, vvar::kMonotonicRaw) == Time{1001, 507'654'322});
  CHECK(ask(kernel, vvar::kRealtimeCoarse) == Time{1'790'000'000, 123'456'789});
  CHECK(ask(kernel, vvar::kMonotonicCoarse) == Time{1001, 111'111'110});

  kernel.tick();  // 375 whole intervals of 4 ms, 1 ns left over
  CHECK(kernel.state().times.cycle_last == FakeSetup{}.start + 1'500'000'000);
  CHECK(ask(kernel, vvar::kRealtimeCoarse) == Time{1'790'000'001, 623'456'789});
  CHECK(ask(kernel, vvar::kRealtime) == Time{1'790'000'001, 623'456'790});

  arch::Timespec64 unused{};
  CHECK(kernel.clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &unused) == -EINVAL);
  CHECK(kernel.clock_gettime(-1, &unused) == -EINVAL);
}

TEST_CASE("a slewed clock runs at the new rate and does not jump", "[fake_kernel]") {
  FakeKernel kernel(kNewest, one_gigahertz());
  kernel.advance_ns(1'000'000);  // a quarter of an interval: stays behind cycle_last
  const Time before = ask(kernel, vvar::kMonotonic);
  kernel.slew(500);  // mult 8392802
  CHECK(kernel.state().times.cycle_last == FakeSetup{}.start);
  CHECK(ask(kernel, vvar::kMonotonic) == before);
  kernel.advance_ns(kGiga);  // 10^9 * 8392802 >> 23 = 1'000'499'963, and 0.76 ns
  CHECK(ask(kernel, vvar::kMonotonic) == Time{before.sec + 1, before.nsec + 499'963});
  CHECK(ask(kernel, vvar::kMonotonicRaw) == Time{1001, 8'654'321});
}

TEST_CASE("settimeofday, TAI, sleep and a leap second move the clocks that they should",
          "[fake_kernel]") {
  FakeKernel kernel(kNewest, one_gigahertz());
  kernel.step(-1'500'000'000);
  CHECK(ask(kernel, vvar::kRealtime) == Time{1'789'999'998, 623'456'789});
  CHECK(ask(kernel, vvar::kTai) == Time{1'790'000'035, 623'456'789});
  CHECK(ask(kernel, vvar::kMonotonic) == Time{1001, 111'111'110});
  CHECK(ask(kernel, vvar::kMonotonicCoarse) == Time{1001, 111'111'110});

  kernel.set_tai_offset(40);
  CHECK(ask(kernel, vvar::kTai) == Time{1'790'000'038, 623'456'789});

  kernel.sleep(10 * kSecond + 1);
  CHECK(ask(kernel, vvar::kRealtime) == Time{1'790'000'008, 623'456'790});
  CHECK(ask(kernel, vvar::kMonotonic) == Time{1001, 111'111'110});
  CHECK(ask(kernel, vvar::kMonotonicRaw) == Time{1000, 7'654'321});
  CHECK(ask(kernel, vvar::kBoottime) == Time{1011, 111'111'111});

  kernel.insert_leap_second_at(1'790'000'010);
  kernel.advance_ns(1'999'999'999);
  kernel.tick();
  CHECK(ask(kernel, vvar::kRealtime) == Time{1'790'000'009, 623'456'789});
  CHECK(ask(kernel, vvar::kTai) == Time{1'790'000'050, 623'456'789});
  CHECK(ask(kernel, vvar::kMonotonic) == Time{1003, 111'111'109});
}

TEST_CASE("sources are changed without a jump", "[fake_kernel]") {
  FakeKernel kernel(kNewest, one_gigahertz());
  for (const arch::ClockMode mode :
       {arch::kModePvclock, arch::kModeHvclock, arch::kModeNone, arch::kModeTsc}) {
    CAPTURE(mode);
    kernel.advance_ns(123'456'700);
    const Time monotonic = ask(kernel, vvar::kMonotonic);
    const Time raw = ask(kernel, vvar::kMonotonicRaw);
    kernel.use_source(mode);
    CHECK(ask(kernel, vvar::kMonotonic) == monotonic);
    CHECK(ask(kernel, vvar::kMonotonicRaw) == raw);
  }
  kernel.use_source(arch::kModePvclock);
  kernel.update_hypervisor(100);
  const Time before = ask(kernel, vvar::kMonotonic);
  kernel.advance_ns(
      kGiga);  // the hypervisor's TSC is said to be 100 ppm faster: less time for as many ticks
  const Time after = ask(kernel, vvar::kMonotonic);
  const std::int64_t passed = (after.sec - before.sec) * kSecond + after.nsec - before.nsec;
  CHECK(passed ==
        999'900'009);  // 10^9 / 1.0001 = 999'900'009.999, less what the 32-bit mul cuts off
}

TEST_CASE("time-namespace offsets go to the clocks that have them", "[fake_kernel]") {
  FakeKernel kernel(kNewest, one_gigahertz());
  kernel.sleep(5 * kSecond);
  kernel.enter_timens({.monotonic = {-900, 999'999'999}, .boottime = {100'000, 5}});
  CHECK(ask(kernel, vvar::kMonotonic) == Time{102, 111'111'109});
  CHECK(ask(kernel, vvar::kMonotonicRaw) == Time{101, 7'654'320});
  CHECK(ask(kernel, vvar::kMonotonicCoarse) == Time{102, 111'111'109});
  CHECK(ask(kernel, vvar::kBoottime) == Time{101'006, 111'111'115});
  CHECK(ask(kernel, vvar::kRealtime) == Time{1'790'000'005, 123'456'789});
  kernel.leave_timens();
  CHECK(ask(kernel, vvar::kMonotonic) == Time{1001, 111'111'110});
}

TEST_CASE("every event is one update: seq even before and after, alike in both blocks",
          "[fake_kernel]") {
  FakeKernel kernel(kNewest, one_gigahertz());
  const std::byte* const data = kernel.image() + kNewest.data;
  auto seq = load<std::uint32_t>(data);
  const auto one_update = [&] {
    const auto now = load<std::uint32_t>(data);
    const bool good = now == seq + 2 && load<std::uint32_t>(data, 232) == now && now % 2 == 0;
    seq = now;
    return good;
  };
  kernel.tick();
  CHECK(one_update());
  kernel.slew(-300);
  CHECK(one_update());
  kernel.step(1);
  CHECK(one_update());
  kernel.use_source(arch::kModePvclock);
  CHECK(one_update());
  kernel.hold_seq_odd(true);
  CHECK(load<std::uint32_t>(data) == seq + 1);
  kernel.hold_seq_odd(false);
  CHECK(one_update());
}

TEST_CASE("pages are given out as the kernel does", "[fake_kernel]") {
  FakeKernel kernel(kNewest, one_gigahertz());
  const auto readable = [&](std::int32_t offset) {
    return kernel.table().readable(kernel.image() + offset);
  };
  CHECK(readable(kNewest.data));
  CHECK(readable(0));
  CHECK_FALSE(readable(kNewest.timens));
  CHECK_FALSE(readable(kNewest.pvclock));
  CHECK_FALSE(readable(kNewest.hvclock));
  CHECK_FALSE(readable(kNewest.data - 1));
  CHECK_FALSE(kernel.table().readable(nullptr));
  kernel.use_source(arch::kModePvclock);
  kernel.use_source(arch::kModeTsc);
  CHECK(readable(kNewest.pvclock));  // once in use, given out for ever
  CHECK_FALSE(readable(kNewest.hvclock));
  kernel.withdraw(FakeKernel::Page::kData);
  CHECK_FALSE(readable(kNewest.data));
}

}  // namespace vvarclock::test
