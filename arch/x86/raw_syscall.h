// The clock system calls without libc: no errno, no cancellation, no vDSO. Each returns what the
// kernel returns, 0 or a negative errno.
//
// The numbers come from <sys/syscall.h>, which holds no code. On 32-bit x86 the gate is int 0x80:
// slower than the vDSO's own gate, and there before and without a vDSO.
#pragma once

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <cstdint>

namespace vvarclock::arch {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0) noexcept {
  long result;
#ifdef __x86_64__
  register long r10 asm("r10") = d;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
               : "rcx", "r11", "memory");
#else
  asm volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
#endif
  return result;
}

// Time in two 64-bit words, whatever the width of time_t: the kernel's __kernel_timespec, and the
// like for microseconds.
#ifdef __x86_64__
using Timespec64 = timespec;
using Timeval64 = timeval;
#else
struct Timespec64 {
  std::int64_t tv_sec;
  std::int64_t tv_nsec;
};
struct Timeval64 {
  std::int64_t tv_sec;
  std::int64_t tv_usec;
};
#endif

#ifdef __x86_64__
inline constexpr long kFstat = SYS_fstat;
inline constexpr long kFstatat = SYS_newfstatat;

inline long raw_clock_gettime(clockid_t id, Timespec64* out) noexcept {
  return raw_syscall(SYS_clock_gettime, id, reinterpret_cast<long>(out));
}

inline long raw_clock_getres(clockid_t id, Timespec64* out) noexcept {
  return raw_syscall(SYS_clock_getres, id, reinterpret_cast<long>(out));
}
#else
inline constexpr long kFstat = SYS_fstat64;  // struct stat of 64-bit files
inline constexpr long kFstatat = SYS_fstatat64;

// Kernels before 5.1 have the calls with 32-bit seconds alone.
template <long Number64, long Number32>
long raw_clock_call(clockid_t id, Timespec64* out) noexcept {
  const long result = raw_syscall(Number64, id, reinterpret_cast<long>(out));
  constexpr long kNoSuchCall = -38;  // ENOSYS
  if (result != kNoSuchCall) {
    return result;
  }
  timespec narrow{};
  const long old_result =
      raw_syscall(Number32, id, out == nullptr ? 0 : reinterpret_cast<long>(&narrow));
  if (old_result == 0 && out != nullptr) {
    *out = {narrow.tv_sec, narrow.tv_nsec};
  }
  return old_result;
}

inline long raw_clock_gettime(clockid_t id, Timespec64* out) noexcept {
  return raw_clock_call<SYS_clock_gettime64, SYS_clock_gettime>(id, out);
}

inline long raw_clock_getres(clockid_t id, Timespec64* out) noexcept {
  return raw_clock_call<SYS_clock_getres_time64, SYS_clock_getres>(id, out);
}

// The same with 32-bit seconds, which the kernel cuts.
inline long raw_clock_gettime(clockid_t id, timespec* out) noexcept {
  return raw_syscall(SYS_clock_gettime, id, reinterpret_cast<long>(out));
}

inline long raw_clock_getres(clockid_t id, timespec* out) noexcept {
  return raw_syscall(SYS_clock_getres, id, reinterpret_cast<long>(out));
}
#endif

// The width of these two is libc's `long`: there are no others.
inline long raw_gettimeofday(timeval* time, void* zone) noexcept {
  return raw_syscall(SYS_gettimeofday, reinterpret_cast<long>(time), reinterpret_cast<long>(zone));
}

inline long raw_time(time_t* out) noexcept {
  return raw_syscall(SYS_time, reinterpret_cast<long>(out));
}

}  // namespace vvarclock::arch
