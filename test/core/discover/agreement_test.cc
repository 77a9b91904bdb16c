// The brackets around system calls, against system calls that are a moment behind the page and
// readings that run away from it.
//
// Guards: one unlucky moment at start-up that costs a process its fast clocks for its whole life;
// second looks that go on until a wrong page fits; a bracket so wide that any answer lies in it;
// and a layout that is believed on its bytes when no system call could be held against its fine
// clocks.
#include "core/discover/agreement.h"

#include <cstdint>
#include <string>

#include "test/core/discover/probe_kernel.h"
#include "test/support/catch.h"

namespace vvarclock::test {
namespace {

using discover::ProbeTest;

// System calls about one clock that answer as before the last update: all, or as many as are said.
struct Behind {
  inline static const FakeKernel* kernel = nullptr;
  inline static Snapshot before;
  inline static clockid_t id = 0;
  inline static std::uint32_t asked = 0;
  inline static std::uint32_t last = 0;

  static long clock_gettime(clockid_t wanted, arch::Timespec64* out) noexcept {
    if (wanted != id || ++asked > last) {
      return kernel->clock_gettime(wanted, out);
    }
    const Int128 ns = reference_ns(before, static_cast<vvar::ClockId>(id), SimCounter::now);
    *out = {static_cast<std::int64_t>(ns / kSecond), static_cast<std::int64_t>(ns % kSecond)};
    return 0;
  }
};

constexpr std::uint32_t kForEver = ~0U;

// Readings of one clock that are right, but for the second one, which is far ahead.
struct Ahead {
  inline static const discover::Kernel* kernel = nullptr;
  inline static vvar::ClockId id = 0;
  inline static std::uint64_t by_ns = 0;
  inline static std::uint32_t read = 0;

  static bool read_clock(vvar::BlockKind kind, const vvar::Binding& binding, vvar::ClockId wanted,
                         vvar::SecNsec& time) noexcept {
    const bool served = kernel->read_clock(kind, binding, wanted, time);
    if (wanted == id && ++read == 2) {
      const std::uint64_t nsec = time.nsec + by_ns;
      time = {time.sec + nsec / vvar::kNsPerSec, nsec % vvar::kNsPerSec};
    }
    return served;
  }
};

std::string probe_own(const ProbeKernel& kernel, const discover::Kernel& table,
                      const discover::CodeHints& hints) {
  vvar::Binding unused;
  return verdict(discover::probe_layout(
      {&table, kernel.mapped_image(), hints, discover::kAttachEffort}, kernel.layout(), unused));
}

void check_code_must_confirm(const ProbeKernel& kernel, const discover::Kernel& table) {
  CHECK(probe_own(kernel, table, {}) == verdict(ProbeTest::kCodeSilent));
  CHECK(probe_own(kernel, table, hints_of(kernel.layout())) == verdict(ProbeTest::kPassed));
}

discover::Refusal probe_behind(ProbeKernel& kernel, vvar::ClockId id, std::uint32_t last) {
  kernel.advance_ns(5'000'000);
  kernel.tick();
  Behind::kernel = &kernel;
  Behind::id = static_cast<clockid_t>(id);
  Behind::asked = 0;
  Behind::last = last;
  Behind::before = kernel.state();
  kernel.advance_ns(5'000'000);
  kernel.tick();
  discover::Kernel table = kernel.table();
  table.clock_gettime = Behind::clock_gettime;
  vvar::Binding unused;
  const vvar::Layout& row = kernel.layout();
  return discover::probe_layout(
      {&table, kernel.mapped_image(), hints_of(row), discover::kAttachEffort}, row, unused);
}

}  // namespace

TEST_CASE("a coarse clock that was put back between two system calls is looked at anew",
          "[agreement]") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    for (const vvar::ClockId id : {vvar::kRealtimeCoarse, vvar::kMonotonicCoarse}) {
      for (const std::uint32_t last : {1U, 2U}) {
        CAPTURE(layout.name, id, last);
        ProbeKernel kernel(layout, {});
        CHECK(verdict(probe_behind(kernel, id, last)) == verdict(ProbeTest::kPassed));
        CHECK(Behind::asked > last);
      }
    }
  }
}

TEST_CASE("a clock that stays ahead of the system call is refused after a few looks",
          "[agreement]") {
  for (const vvar::ClockId id : {vvar::kRealtimeCoarse, vvar::kMonotonicCoarse}) {
    ProbeKernel kernel(vvar::kLayouts[0], {});
    const discover::Refusal refusal = probe_behind(kernel, id, kForEver);
    CAPTURE(id);
    CHECK(verdict(refusal) == verdict(ProbeTest::kAgreement));
    CHECK(refusal.clock == static_cast<std::int32_t>(id));
    CHECK(Behind::asked < 10);
  }
}

TEST_CASE("a reading that runs away after the system call is refused", "[agreement]") {
  for (const vvar::ClockId id : {vvar::kMonotonic, vvar::kMonotonicRaw, vvar::kRealtime}) {
    for (const std::uint64_t by_ns : {1'000'000ULL, 1'000'000'000ULL, 1ULL << 50U}) {
      CAPTURE(id, by_ns);
      ProbeKernel kernel(vvar::kLayouts[0], {});
      Ahead::kernel = &kernel.table();
      Ahead::id = id;
      Ahead::by_ns = by_ns;
      Ahead::read = 0;
      discover::Kernel table = kernel.table();
      table.read_clock = Ahead::read_clock;
      // A wall clock may have been set: it is looked at anew, and the next readings are right.
      const ProbeTest expected = id == vvar::kRealtime ? ProbeTest::kPassed : ProbeTest::kAgreement;
      CHECK(probe_own(kernel, table, hints_of(kernel.layout())) == verdict(expected));
      CHECK(Ahead::read >= 2);
    }
  }
}

TEST_CASE("where the fine clocks cannot be read, the code must confirm", "[agreement]") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    if (is_old(layout)) {
      continue;  // believed by nothing but the code, always
    }
    CAPTURE(layout.name);
    {
      ProbeKernel kernel(layout, {.mode = arch::kModePvclock});
      kernel.update_hypervisor(0, false);
      check_code_must_confirm(kernel, kernel.table());
      kernel.zero(FakeKernel::Page::kPvclock);
      check_code_must_confirm(kernel, kernel.table());
    }
    {
      ProbeKernel kernel(layout, {.mode = arch::kModeHvclock});
      kernel.zero(FakeKernel::Page::kHvclock);
      check_code_must_confirm(kernel, kernel.table());
    }
    ProbeKernel kernel(layout, {});
    discover::Kernel no_counter = kernel.table();
    no_counter.counter = nullptr;
    no_counter.read_clock = discover::read_clock_of_kind<arch::ForbiddenCounter>;
    check_code_must_confirm(kernel, no_counter);
  }
}

}  // namespace vvarclock::test
