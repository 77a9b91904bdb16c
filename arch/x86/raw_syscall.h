// The clock system calls without libc: no errno, no cancellation, no vDSO. Each returns what the
// kernel returns, 0 or a negative errno.
//
// x86-64 only for now; the system call numbers come from <sys/syscall.h>, which holds no code.
#pragma once

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

namespace vvarclock::arch {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0) noexcept {
  long result;
  register long r10 asm("r10") = d;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
               : "rcx", "r11", "memory");
  return result;
}

inline long raw_clock_gettime(clockid_t id, timespec* out) noexcept {
  return raw_syscall(SYS_clock_gettime, id, reinterpret_cast<long>(out));
}

inline long raw_clock_getres(clockid_t id, timespec* out) noexcept {
  return raw_syscall(SYS_clock_getres, id, reinterpret_cast<long>(out));
}

inline long raw_gettimeofday(timeval* time, void* zone) noexcept {
  return raw_syscall(SYS_gettimeofday, reinterpret_cast<long>(time), reinterpret_cast<long>(zone));
}

inline long raw_time(time_t* out) noexcept {
  return raw_syscall(SYS_time, reinterpret_cast<long>(out));
}

}  // namespace vvarclock::arch
