// The exported names, one line each into the dispatch table.
//
// The parameter types are the C library's; its headers mark some of them nonnull, which these must
// not promise: the vDSO takes null pointers too.
#include <sys/time.h>
#include <time.h>

#include "core/serve/dispatch.h"

using vvarclock::serve::dispatch;
using vvarclock::serve::target;

#pragma GCC visibility push(default)
extern "C" {

int clock_gettime(clockid_t id, timespec* out) noexcept {
  return target(dispatch.calls.own.clock_gettime)(id, out);
}

int gettimeofday(timeval* time, void* zone) noexcept {
  return target(dispatch.calls.own.gettimeofday)(time, zone);
}

time_t time(time_t* out) noexcept { return vvarclock::serve::time(out); }

int timespec_get(timespec* out, int base) noexcept {
  return target(dispatch.calls.own.timespec_get)(out, base);
}

int clock_getres(clockid_t id, timespec* out) noexcept {
  return target(dispatch.calls.own.clock_getres)(id, out);
}

#ifndef __x86_64__
// The names of programs that are compiled with 64-bit seconds (_TIME_BITS=64).
// NOLINTBEGIN(bugprone-reserved-identifier): the names are glibc's
using vvarclock::arch::Timespec64;
using vvarclock::arch::Timeval64;

int __clock_gettime64(clockid_t id, Timespec64* out) noexcept {
  return target(dispatch.calls.wide.clock_gettime)(id, out);
}

int __gettimeofday64(Timeval64* time, void* zone) noexcept {
  return target(dispatch.calls.wide.gettimeofday)(time, zone);
}

std::int64_t __time64(std::int64_t* out) noexcept { return target(dispatch.calls.wide.time)(out); }

int __timespec_get64(Timespec64* out, int base) noexcept {
  return target(dispatch.calls.wide.timespec_get)(out, base);
}

int __clock_getres64(clockid_t id, Timespec64* out) noexcept {
  return target(dispatch.calls.wide.clock_getres)(id, out);
}
// NOLINTEND(bugprone-reserved-identifier)
#endif

}  // extern "C"
#pragma GCC visibility pop
