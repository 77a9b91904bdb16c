// The kernel's own answer, in libc's convention: -1 and errno on failure, errno untouched on
// success.
//
// On 32-bit machines the functions exist for both widths of the seconds, with glibc's rules for
// what does not fit: see result.h.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <cstdint>

#include "arch/x86/raw_syscall.h"

namespace vvarclock::serve::fallback {

int clock_gettime(clockid_t id, timespec* out) noexcept;
int clock_getres(clockid_t id, timespec* out) noexcept;
int gettimeofday(timeval* time, void* zone) noexcept;
time_t time(time_t* out) noexcept;
int timespec_get(timespec* out, int base) noexcept;

#ifndef __x86_64__
int clock_gettime(clockid_t id, arch::Timespec64* out) noexcept;
int clock_getres(clockid_t id, arch::Timespec64* out) noexcept;
// Fills the zone with zeros, as glibc does for callers of this width.
int gettimeofday(arch::Timeval64* time, void* zone) noexcept;
std::int64_t time(std::int64_t* out) noexcept;
int timespec_get(arch::Timespec64* out, int base) noexcept;
#endif

// The clock behind a base of timespec_get, as the running libc has it; -1: that libc does not know
// the base.
clockid_t clock_of_base(int base) noexcept;

// Sets errno for seconds that the caller's type cannot hold; -1.
int overflow() noexcept;

}  // namespace vvarclock::serve::fallback
