#include "core/serve/fallback.h"

#include <errno.h>
#include <gnu/libc-version.h>

#include "arch/x86/raw_syscall.h"

// Weak, because a program under glibc hands LD_PRELOAD on to children that are linked to musl: they
// would not start for want of it.
#pragma weak gnu_get_libc_version

namespace vvarclock::serve::fallback {
namespace {

constexpr long kHighestErrno = 4095;

template <class Result>
Result libc_result(long result) noexcept {
  if (result < 0 && result >= -kHighestErrno) [[unlikely]] {
    errno = static_cast<int>(-result);
    return -1;
  }
  return static_cast<Result>(result);
}

// Is the running glibc at least 2.minor? Its version text is "2.36"; asked anew each time, on a
// rare path only. Other C libraries know TIME_UTC alone.
bool glibc_has_minor(int minor) noexcept {
  if (&gnu_get_libc_version == nullptr) {
    return false;
  }
  const char* const version = gnu_get_libc_version();
  if (version[0] != '2' || version[1] != '.') {
    return true;
  }
  int found = 0;
  for (const char* digit = version + 2; *digit >= '0' && *digit <= '9'; ++digit) {
    found = found * 10 + (*digit - '0');
  }
  return found >= minor;
}

}  // namespace

int clock_gettime(clockid_t id, timespec* out) noexcept {
  return libc_result<int>(arch::raw_clock_gettime(id, out));
}

int clock_getres(clockid_t id, timespec* out) noexcept {
  return libc_result<int>(arch::raw_clock_getres(id, out));
}

int gettimeofday(timeval* time, void* zone) noexcept {
  return libc_result<int>(arch::raw_gettimeofday(time, zone));
}

time_t time(time_t* out) noexcept { return libc_result<time_t>(arch::raw_time(out)); }

int timespec_get(timespec* out, int base) noexcept {
  const clockid_t id = clock_of_base(base);
  return id >= 0 && arch::raw_clock_gettime(id, out) == 0 ? base : 0;
}

clockid_t clock_of_base(int base) noexcept {
  if (base == TIME_UTC) [[likely]] {
    return CLOCK_REALTIME;
  }
  // The bases of C23, known to glibc from 2.43 on: TIME_MONOTONIC 2, TIME_ACTIVE 3,
  // TIME_THREAD_ACTIVE 4.
  constexpr clockid_t kC23Clocks[] = {CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                      CLOCK_THREAD_CPUTIME_ID};
  if (base >= 2 && base <= 4 && glibc_has_minor(43)) {
    return kC23Clocks[base - 2];
  }
  return -1;
}

}  // namespace vvarclock::serve::fallback
