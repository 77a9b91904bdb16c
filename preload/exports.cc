// The exported names, one line each into the dispatch table.
//
// The parameter types are the C library's; its headers mark some of them nonnull, which these must
// not promise: the vDSO takes null pointers too.
#include <sys/time.h>
#include <time.h>

#include "core/serve/dispatch.h"

using vvarclock::serve::dispatch;

#pragma GCC visibility push(default)
extern "C" {

int clock_gettime(clockid_t id, timespec* out) noexcept {
  return dispatch.clock_gettime.load(std::memory_order_acquire)(id, out);
}

int gettimeofday(timeval* time, void* zone) noexcept {
  return dispatch.gettimeofday.load(std::memory_order_acquire)(time, zone);
}

time_t time(time_t* out) noexcept { return vvarclock::serve::time(out); }

int timespec_get(timespec* out, int base) noexcept {
  return dispatch.timespec_get.load(std::memory_order_acquire)(out, base);
}

int clock_getres(clockid_t id, timespec* out) noexcept {
  return dispatch.clock_getres.load(std::memory_order_acquire)(id, out);
}

}  // extern "C"
#pragma GCC visibility pop
