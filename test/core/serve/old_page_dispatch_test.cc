// Guards: on a page before 5.3 the exported functions must answer from it what it holds and leave
// the rest (RAW, BOOTTIME, TAI, resolutions) to the kernel, with the kernel's result and errno.
//
// An executable of its own: a process attaches once. The page is made here, of kind B (4.7 - 4.19),
// in clock mode TSC at 1 GHz.
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "arch/x86/rdtsc.h"
#include "core/serve/dispatch.h"
#include "test/support/catch.h"
#include "test/support/kernel_time.h"

using namespace vvarclock;
using test::in_ns;
using test::kernel_ns;

namespace {

constexpr std::uint64_t kRealtimeSec = 1'500'000'000;
constexpr std::uint64_t kMonotonicSec = 1000;
constexpr std::uint16_t kTimezone = 96;
alignas(8) std::array<std::byte, 104> page{};

template <class T>
void store(std::size_t at, T value) {
  std::memcpy(page.data() + at, &value, sizeof(value));
}

// Offsets are those of struct vsyscall_gtod_data, written down here a second time.
void make_page() {
  store(0, std::uint32_t{2});                    // seq
  store(4, std::int32_t{1});                     // clock mode TSC
  store(8, arch::LfenceTsc::read());             // cycle_last
  store(16, ~std::uint64_t{0});                  // mask
  store(24, std::uint32_t{8388608});             // mult
  store(28, std::uint32_t{23});                  // shift
  store(32, std::uint64_t{100'000'000} << 23U);  // REALTIME, shifted ns
  store(40, kRealtimeSec);
  store(48, kMonotonicSec);
  store(56, std::uint64_t{200'000'000} << 23U);  // MONOTONIC, shifted ns
  store(64, kRealtimeSec);                       // coarse: sec, ns
  store(72, std::uint64_t{100'000'000});
  store(80, kMonotonicSec);
  store(88, std::uint64_t{200'000'000});
  store(96, std::int32_t{-60});  // minutes west
  store(100, std::int32_t{1});
}

const serve::Functions& attached() {
  static const serve::Functions kFunctions = serve::page_readers(vvar::BlockKind::kB, {});
  static const bool kDone = [] {
    vvar::Binding binding;
    binding.data = page.data();
    binding.timezone = kTimezone;
    binding.coarse_resolution = 4'000'000;
    serve::attach(binding, vvar::BlockKind::kB, kFunctions);
    return true;
  }();
  REQUIRE(kDone);
  make_page();
  return kFunctions;
}

}  // namespace

TEST_CASE("what the page holds comes from the page") {
  const serve::Functions& functions = attached();
  timespec time{};
  REQUIRE(functions.own.clock_gettime(CLOCK_REALTIME, &time) == 0);
  CHECK(time.tv_sec >= static_cast<time_t>(kRealtimeSec));
  CHECK(time.tv_sec < static_cast<time_t>(kRealtimeSec + 60));
  REQUIRE(functions.own.clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  CHECK(time.tv_sec >= static_cast<time_t>(kMonotonicSec));
  CHECK(time.tv_sec < static_cast<time_t>(kMonotonicSec + 60));
  REQUIRE(functions.own.clock_gettime(CLOCK_MONOTONIC_COARSE, &time) == 0);
  CHECK(in_ns(time) == kMonotonicSec * 1'000'000'000LL + 200'000'000);
  REQUIRE(functions.own.clock_gettime(CLOCK_REALTIME_COARSE, &time) == 0);
  CHECK(in_ns(time) == kRealtimeSec * 1'000'000'000LL + 100'000'000);
  time_t seconds = 0;
  CHECK(functions.own.time(&seconds) == static_cast<time_t>(kRealtimeSec));
  CHECK(seconds == static_cast<time_t>(kRealtimeSec));
  timeval micro{};
  struct timezone zone {};
  REQUIRE(functions.own.gettimeofday(&micro, &zone) == 0);
  CHECK(micro.tv_sec >= static_cast<time_t>(kRealtimeSec));
  CHECK(zone.tz_minuteswest == -60);
  CHECK(zone.tz_dsttime == 1);
}

TEST_CASE("what the page does not hold comes from the kernel") {
  const serve::Functions& functions = attached();
  errno = 4711;
  for (const clockid_t id : {CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_TAI}) {
    INFO("id " << id);
    const long long before = kernel_ns(id);
    timespec time{};
    CHECK(functions.own.clock_gettime(id, &time) == 0);
    CHECK(in_ns(time) >= before);
    CHECK(in_ns(time) <= kernel_ns(id));
  }
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    INFO(clock.name);
    timespec own{};
    timespec kernel{};
    CHECK(functions.own.clock_getres(static_cast<clockid_t>(clock.id), &own) == 0);
    REQUIRE(syscall(SYS_clock_getres, clock.id, &kernel) == 0);
    CHECK(in_ns(own) == in_ns(kernel));
    CHECK(functions.own.clock_getres(static_cast<clockid_t>(clock.id), nullptr) == 0);
  }
  CHECK(errno == 4711);
  CHECK(functions.own.clock_gettime(12345, nullptr) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("a mode that is no counter sends the fine clocks to the kernel") {
  const serve::Functions& functions = attached();
  store(4, std::int32_t{0});
  const long long before = kernel_ns(CLOCK_MONOTONIC);
  timespec time{};
  CHECK(functions.own.clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  CHECK(in_ns(time) >= before);
  CHECK(in_ns(time) <= kernel_ns(CLOCK_MONOTONIC));
  CHECK(functions.own.clock_gettime(CLOCK_MONOTONIC_COARSE, &time) == 0);
  CHECK(in_ns(time) == kMonotonicSec * 1'000'000'000LL + 200'000'000);
}
