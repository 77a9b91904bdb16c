// Guards against: an argument in the wrong register, a result that is not the kernel's word, an
// errno that the host sees.
//
// Reference: libc's syscall(), which turns -errno into -1 and errno.
#include "arch/x86/raw_syscall.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "test/support/catch.h"

namespace vvarclock::arch {
namespace {

// The calls with two 64-bit words.
#ifdef __x86_64__
constexpr long kClockGettime = SYS_clock_gettime;
constexpr long kClockGetres = SYS_clock_getres;
#else
constexpr long kClockGettime = SYS_clock_gettime64;
constexpr long kClockGetres = SYS_clock_getres_time64;
#endif

long negative_errno(long libc_result) { return libc_result == -1 ? -errno : libc_result; }

bool ordered(const Timespec64& a, const Timespec64& b) {
  return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec);
}

TEST_CASE("raw clock_gettime lies between two calls of libc's syscall", "[arch]") {
  for (const clockid_t id :
       {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_TAI}) {
    CAPTURE(id);
    Timespec64 before{};
    Timespec64 now{};
    Timespec64 after{};
    REQUIRE(syscall(kClockGettime, id, &before) == 0);
    REQUIRE(raw_clock_gettime(id, &now) == 0);
    REQUIRE(syscall(kClockGettime, id, &after) == 0);
    CHECK(ordered(before, now));
    CHECK(ordered(now, after));
  }
}

TEST_CASE("results and errno equal libc's for every kind of id", "[arch]") {
  for (clockid_t id = -40; id <= 40; ++id) {
    CAPTURE(id);
    Timespec64 ours{};
    Timespec64 libc{};
    CHECK(raw_clock_gettime(id, &ours) == negative_errno(syscall(kClockGettime, id, &libc)));
    CHECK(raw_clock_getres(id, &ours) == negative_errno(syscall(kClockGetres, id, &libc)));
    CHECK(ours.tv_sec == libc.tv_sec);
    CHECK(ours.tv_nsec == libc.tv_nsec);
    CHECK(raw_clock_getres(id, static_cast<Timespec64*>(nullptr)) ==
          negative_errno(syscall(kClockGetres, id, nullptr)));
  }
}

TEST_CASE("a bad pointer is EFAULT and errno stays as it was", "[arch]") {
  auto* bad = reinterpret_cast<Timespec64*>(std::uintptr_t{8});
  asm("" : "+r"(bad));  // or the compiler sees it
  errno = 4711;
  CHECK(raw_clock_gettime(CLOCK_MONOTONIC, bad) == -EFAULT);
  CHECK(raw_clock_gettime(1000, bad) == -EINVAL);
  CHECK(raw_gettimeofday(reinterpret_cast<timeval*>(bad), nullptr) == -EFAULT);
  CHECK(raw_time(reinterpret_cast<time_t*>(bad)) == -EFAULT);
  CHECK(errno == 4711);
}

TEST_CASE("raw gettimeofday and time equal libc's syscall", "[arch]") {
  CHECK(raw_gettimeofday(nullptr, nullptr) == 0);
  struct timezone ours {
    - 1, -1
  };
  struct timezone libc {
    - 2, -2
  };
  timeval before{};
  timeval now{};
  timeval after{};
  REQUIRE(syscall(SYS_gettimeofday, &before, &libc) == 0);
  REQUIRE(raw_gettimeofday(&now, &ours) == 0);
  REQUIRE(syscall(SYS_gettimeofday, &after, nullptr) == 0);
  CHECK(!timercmp(&now, &before, <));
  CHECK(!timercmp(&after, &now, <));
  CHECK(ours.tz_minuteswest == libc.tz_minuteswest);
  CHECK(ours.tz_dsttime == libc.tz_dsttime);

  time_t stored = 0;
  const long first = syscall(SYS_time, nullptr);
  const long second = raw_time(&stored);
  const long third = syscall(SYS_time, nullptr);
  CHECK(first <= second);
  CHECK(second <= third);
  CHECK(stored == second);
}

TEST_CASE("four arguments reach the kernel", "[arch]") {
  // rt_sigprocmask's fourth is the size of a signal set: 8, and EINVAL for anything else.
  std::uint64_t ours = 1;
  std::uint64_t libc = 2;
  REQUIRE(syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &libc, 8) == 0);
  CHECK(raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&ours), 8) == 0);
  CHECK(ours == libc);
  CHECK(raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&ours), 16) ==
        -EINVAL);
  CHECK(raw_syscall(SYS_getpid) == getpid());
  CHECK(raw_syscall(-1) == -ENOSYS);
}

}  // namespace
}  // namespace vvarclock::arch
