// The clock calls by the names that programs of each width of seconds are linked to, and the system
// calls behind them.
//
// 64-bit programs have one width. 32-bit programs have two: `clock_gettime` and its kin with 32-bit
// seconds, and glibc's `__clock_gettime64` and its kin for programs compiled with _TIME_BITS=64.
// All are declared here by their linker names, so that what libc's headers make of _TIME_BITS in
// the including program does not matter. Depends on libc alone. Whoever the loader bound the names
// to answers.
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <limits>

namespace guest {

extern "C" {
int plain_clock_gettime(clockid_t id, void* out) noexcept asm("clock_gettime");
int plain_clock_getres(clockid_t id, void* out) noexcept asm("clock_getres");
int plain_gettimeofday(void* out, void* zone) noexcept asm("gettimeofday");
long plain_time(void* out) noexcept asm("time");
int plain_timespec_get(void* out, int base) noexcept asm("timespec_get");
#ifndef __x86_64__
int wide_clock_gettime(clockid_t id, void* out) noexcept asm("__clock_gettime64");
int wide_clock_getres(clockid_t id, void* out) noexcept asm("__clock_getres64");
int wide_gettimeofday(void* out, void* zone) noexcept asm("__gettimeofday64");
std::int64_t wide_time(void* out) noexcept asm("__time64");
int wide_timespec_get(void* out, int base) noexcept asm("__timespec_get64");
#endif
}

// timespec and timeval: seconds, then nanoseconds or microseconds, each as wide as the other.
template <class Word>
struct Pair {
  Word sec = 0;
  Word sub = 0;
};

struct PlainCalls {
  using Seconds = long;
  static constexpr const char* kName = sizeof(long) == 8 ? "" : ", 32-bit seconds";
  static constexpr auto clock_gettime = plain_clock_gettime;
  static constexpr auto clock_getres = plain_clock_getres;
  static constexpr auto gettimeofday = plain_gettimeofday;
  static constexpr auto time = plain_time;
  static constexpr auto timespec_get = plain_timespec_get;
};

#ifdef __x86_64__
using WideCalls = PlainCalls;
inline constexpr bool kTwoWidths = false;
#else
struct WideCalls {
  using Seconds = std::int64_t;
  static constexpr const char* kName = ", 64-bit seconds";
  static constexpr auto clock_gettime = wide_clock_gettime;
  static constexpr auto clock_getres = wide_clock_getres;
  static constexpr auto gettimeofday = wide_gettimeofday;
  static constexpr auto time = wide_time;
  static constexpr auto timespec_get = wide_timespec_get;
};
inline constexpr bool kTwoWidths = true;
#endif

// Calls `visit` with a value of each width's calls.
template <class Visit>
void for_each_width(Visit&& visit) {
  visit(WideCalls{});
  if constexpr (kTwoWidths) {
    visit(PlainCalls{});
  }
}

template <class Seconds>
constexpr bool fits(std::int64_t seconds) noexcept {
  return seconds >= std::numeric_limits<Seconds>::min() &&
         seconds <= std::numeric_limits<Seconds>::max();
}

// The system call: 0, or -1 and errno.
inline int kernel_clock_call(long number, long narrow_number, clockid_t id,
                             Pair<std::int64_t>& out) noexcept {
  const int status = static_cast<int>(syscall(number, id, &out));
  if (status == 0 || errno != ENOSYS || narrow_number == number) {
    return status;
  }
  Pair<long> narrow;  // kernels before 5.1 have no other for 32-bit programs
  const int narrow_status = static_cast<int>(syscall(narrow_number, id, &narrow));
  out = {narrow.sec, narrow.sub};
  return narrow_status;
}

#ifdef __x86_64__
inline constexpr long kClockGettime = SYS_clock_gettime;
inline constexpr long kClockGetres = SYS_clock_getres;
#else
inline constexpr long kClockGettime = SYS_clock_gettime64;
inline constexpr long kClockGetres = SYS_clock_getres_time64;
#endif

inline int kernel_clock_gettime(clockid_t id, Pair<std::int64_t>& out) noexcept {
  return kernel_clock_call(kClockGettime, SYS_clock_gettime, id, out);
}

inline int kernel_clock_getres(clockid_t id, Pair<std::int64_t>& out) noexcept {
  return kernel_clock_call(kClockGetres, SYS_clock_getres, id, out);
}

}  // namespace guest
