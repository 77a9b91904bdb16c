#include "core/serve/fallback.h"

#include <errno.h>
#include <gnu/libc-version.h>

#include "arch/x86/raw_syscall.h"
#include "core/serve/result.h"

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

constexpr vvar::SecNsec sec_nsec(const arch::Timespec64& time) noexcept {
  return {static_cast<std::uint64_t>(time.tv_sec), static_cast<std::uint64_t>(time.tv_nsec)};
}

// 0, or the kernel's negative errno, or that the seconds do not fit. Null when the call allows it.
template <AnyTimespec T>
long ask(long (*call)(clockid_t, arch::Timespec64*) noexcept, clockid_t id, T* out) noexcept {
  if constexpr (std::same_as<T, arch::Timespec64>) {
    return call(id, out);
  } else {
    arch::Timespec64 wide;
    const long result = call(id, out == nullptr ? nullptr : &wide);
    return result != 0 || out == nullptr || store(out, sec_nsec(wide)) ? result : -EOVERFLOW;
  }
}

// The kernel's own gettimeofday cuts its seconds to 32 bits on 32-bit machines.
template <AnyTimeval T>
long ask_time_of_day(T* out) noexcept {
  arch::Timespec64 now;
  const long result = arch::raw_clock_gettime(CLOCK_REALTIME, &now);
  return result != 0 || store(out, sec_nsec(now)) ? result : -EOVERFLOW;
}

// And so does its time(). By the clock of the last update, which is what that shows.
template <class Sec>
Sec ask_seconds(Sec* out) noexcept {
  arch::Timespec64 now;
  const long result = arch::raw_clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (result != 0 || !fits<Sec>(sec_nsec(now).sec)) {
    return libc_result<int>(result != 0 ? result : -EOVERFLOW);
  }
  const auto sec = static_cast<Sec>(now.tv_sec);
  if (out != nullptr) {
    *out = sec;
  }
  return sec;
}

}  // namespace

template <class W>
int For<W>::clock_gettime(clockid_t id, typename W::Timespec* out) noexcept {
  return libc_result<int>(ask(arch::raw_clock_gettime, id, out));
}

template <class W>
int For<W>::clock_getres(clockid_t id, typename W::Timespec* out) noexcept {
  return libc_result<int>(ask(arch::raw_clock_getres, id, out));
}

template <class W>
int For<W>::gettimeofday(typename W::Timeval* out, void* zone) noexcept {
  if constexpr (!kTwoWidths) {
    return libc_result<int>(arch::raw_gettimeofday(out, zone));
  } else {
    long result = 0;
    if constexpr (std::same_as<W, WideWidth>) {
      clear_zone(zone);
    } else if (zone != nullptr) {
      result = arch::raw_gettimeofday(nullptr, zone);
    }
    return libc_result<int>(result != 0 || out == nullptr ? result : ask_time_of_day(out));
  }
}

template <class W>
typename W::Sec For<W>::time(typename W::Sec* out) noexcept {
  if constexpr (!kTwoWidths) {
    return libc_result<time_t>(arch::raw_time(out));
  } else {
    return ask_seconds(out);
  }
}

template <class W>
int For<W>::timespec_get(typename W::Timespec* out, int base) noexcept {
  const clockid_t id = clock_of_base(base);
  if (id < 0) {
    return 0;
  }
  const long result = ask(arch::raw_clock_gettime, id, out);
  if (result == -EOVERFLOW) {
    overflow();
  }
  return result == 0 ? base : 0;
}

template struct For<OwnWidth>;
template struct For<WideWidth>;

int overflow() noexcept {
  errno = EOVERFLOW;
  return -1;
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
