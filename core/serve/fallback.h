// The kernel's own answer, in libc's convention: -1 and errno on failure, errno untouched on
// success.
#pragma once

#include <sys/time.h>
#include <time.h>

namespace vvarclock::serve::fallback {

int clock_gettime(clockid_t id, timespec* out) noexcept;
int clock_getres(clockid_t id, timespec* out) noexcept;
int gettimeofday(timeval* time, void* zone) noexcept;
time_t time(time_t* out) noexcept;
int timespec_get(timespec* out, int base) noexcept;

// The clock behind a base of timespec_get, as the running libc has it; -1: that libc does not know
// the base.
clockid_t clock_of_base(int base) noexcept;

}  // namespace vvarclock::serve::fallback
