// Guards: the table must answer before attach, and after it every reader of every block kind and
// ordering must honour the pointers and errno as the vDSO does. Runs on the host's own page; what
// does not fit the host's block kind is covered by the fake kernel's tests.
#include "core/serve/dispatch.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/x86/cpu.h"
#include "core/discover/discovery.h"
#include "core/serve/report.h"
#include "test/support/catch.h"
#include "test/support/kernel_time.h"

using namespace vvarclock;
using test::in_ns;
using test::kernel_ns;

namespace {

void check_answers(const serve::Functions& functions) {
  errno = 4711;
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    INFO(clock.name);
    const auto id = static_cast<clockid_t>(clock.id);
    const long long before = kernel_ns(id);
    timespec own{};
    CHECK(functions.own.clock_gettime(id, &own) == 0);
    const long long after = kernel_ns(id);
    CHECK(in_ns(own) >= before);
    CHECK(in_ns(own) <= after);
    timespec resolution{};
    timespec expected{};
    CHECK(functions.own.clock_getres(id, &resolution) == 0);
    REQUIRE(syscall(SYS_clock_getres, id, &expected) == 0);
    CHECK(in_ns(resolution) == in_ns(expected));
    CHECK(functions.own.clock_getres(id, nullptr) == 0);
  }
  const long long before = kernel_ns(CLOCK_REALTIME) / 1000;
  timeval own{};
  struct timezone zone {
    - 1, -1
  };
  CHECK(functions.own.gettimeofday(&own, &zone) == 0);
  CHECK(own.tv_sec * 1'000'000LL + own.tv_usec >= before);
  CHECK(own.tv_sec * 1'000'000LL + own.tv_usec <= kernel_ns(CLOCK_REALTIME) / 1000);
  struct timezone expected_zone {};
  REQUIRE(syscall(SYS_gettimeofday, nullptr, &expected_zone) == 0);
  CHECK(zone.tz_minuteswest == expected_zone.tz_minuteswest);
  CHECK(zone.tz_dsttime == expected_zone.tz_dsttime);
  CHECK(functions.own.gettimeofday(nullptr, nullptr) == 0);
  CHECK(functions.own.gettimeofday(nullptr, &zone) == 0);
  CHECK(functions.own.gettimeofday(&own, nullptr) == 0);
  timespec utc{};
  CHECK(functions.own.timespec_get(&utc, TIME_UTC) == TIME_UTC);
  CHECK(functions.own.timespec_get(&utc, 0) == 0);
  const long long coarse = kernel_ns(CLOCK_REALTIME_COARSE) / 1'000'000'000;
  time_t stored = 0;
  const time_t returned = functions.own.time(&stored);
  CHECK(returned == stored);
  CHECK(returned >= coarse);
  CHECK(functions.own.time(nullptr) >= returned);
  CHECK(errno == 4711);
  CHECK(functions.own.clock_gettime(-12345, &utc) == -1);
  CHECK(errno == EINVAL);
  errno = 0;
  CHECK(functions.own.clock_getres(12345, nullptr) == -1);
  CHECK(errno == EINVAL);
}

template <class W>
serve::Calls<serve::Plain, W> loaded(const serve::Calls<std::atomic, W>& calls) {
  return {calls.clock_gettime, calls.gettimeofday, calls.time, calls.timespec_get,
          calls.clock_getres};
}

[[maybe_unused]] serve::NoCalls loaded(const serve::NoCalls& none) { return none; }

serve::Functions now_in_the_table() {
  return {loaded(serve::dispatch.calls.own), loaded(serve::dispatch.calls.wide)};
}

}  // namespace

TEST_CASE("the table answers by system call, and by every reader once attached") {
  check_answers(now_in_the_table());
  if (discover::vdso_address() == nullptr) {
    test::skip("the kernel, or an emulator in its place, gives no vDSO: only the table was tried");
    return;
  }

  const discover::Discovery found = discover::discover(
      discover::host_kernel(true), discover::vdso_address(), discover::kAttachEffort);
  REQUIRE(found.outcome == discover::Outcome::kBound);
  const vvar::BlockKind kind = found.layout->block;
  using arch::Ordering;
  const arch::ClockMode now = serve::clock_mode_now(found);
  serve::attach(found.binding, kind, serve::page_readers(kind, {Ordering::kLfence, true, now}));
  check_answers(now_in_the_table());
  CHECK(serve::time(nullptr) == std::time(nullptr));
  // Also readers whose straight line is for another mode than the kernel's.
  for (const arch::ClockMode mode : {arch::kModeTsc, arch::kModePvclock, arch::kModeHvclock}) {
    if (serve::mode_to_want(found.binding, mode) != mode) {
      continue;  // no such page
    }
    INFO("made for mode " << arch::clock_mode_name(mode));
    check_answers(serve::page_readers(kind, {Ordering::kLfence, true, mode}));
    check_answers(serve::page_readers(kind, {Ordering::kUnordered, true, mode}));
    check_answers(serve::page_readers(kind, {Ordering::kUnordered, false, mode}));
    if (arch::has_rdtscp()) {
      check_answers(serve::page_readers(kind, {Ordering::kRdtscp, true, mode}));
    }
  }
  if (!arch::has_rdtscp()) {
    WARN("rdtscp not tried: this CPU does not offer it");
  }
}

TEST_CASE("a mode is wanted only with the page that it reads") {
  constexpr std::byte kPage{};
  vvar::Binding binding;
  CHECK(serve::mode_to_want(binding, arch::kModePvclock) == arch::kModeTsc);
  CHECK(serve::mode_to_want(binding, arch::kModeHvclock) == arch::kModeTsc);
  binding.counters = {&kPage, &kPage};
  CHECK(serve::mode_to_want(binding, arch::kModePvclock) == arch::kModePvclock);
  CHECK(serve::mode_to_want(binding, arch::kModeHvclock) == arch::kModeHvclock);
  CHECK(serve::mode_to_want(binding, arch::kModeNone) == arch::kModeTsc);
  CHECK(serve::mode_to_want(binding, arch::kModeTsc) == arch::kModeTsc);
}

TEST_CASE("what calls read shares no line with anything else") {
  CHECK(reinterpret_cast<std::uintptr_t>(&serve::dispatch) % 4096 == 0);
  CHECK(sizeof(serve::dispatch) == 4096);
}

TEST_CASE("every block kind, ordering and mode has readers of its own") {
  using arch::Ordering;
  using vvar::BlockKind;
  const auto reader = [](BlockKind kind, const serve::Wanted& wanted) {
    return serve::page_readers(kind, wanted).own.clock_gettime;
  };
  CHECK(reader(BlockKind::kD, {}) != reader(BlockKind::kDm, {}));
  CHECK(reader(BlockKind::kDm, {}) != reader(BlockKind::kV, {}));
  CHECK(reader(BlockKind::kV, {}) != reader(BlockKind::kV, {Ordering::kRdtscp}));
  CHECK(reader(BlockKind::kV, {}) != reader(BlockKind::kV, {Ordering::kUnordered}));
  CHECK(reader(BlockKind::kV, {}) != reader(BlockKind::kV, {Ordering::kLfence, false}));
  CHECK(reader(BlockKind::kV, {}) !=
        reader(BlockKind::kV, {Ordering::kLfence, true, arch::kModePvclock}));
  CHECK(reader(BlockKind::kV, {}) !=
        reader(BlockKind::kV, {Ordering::kLfence, true, arch::kModeHvclock}));
  CHECK(reader(BlockKind::kV, {}) ==
        reader(BlockKind::kV, {Ordering::kLfence, true, arch::kModeNone}));
}
