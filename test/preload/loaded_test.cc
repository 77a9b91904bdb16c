// Guards against: a program that loads the library and yet calls libc.
//
// A program may import clock_gettime and clock_getres at either of their glibc versions, and may
// look functions up by name; all of them must arrive at the library.
#include "test/support/clock_calls.h"

// The first of the versions.
#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.2"
#endif

extern "C" {
int clock_gettime_of_first(clockid_t id, timespec* out);
int clock_gettime_of_2_17(clockid_t id, timespec* out);
int clock_getres_of_first(clockid_t id, timespec* out);
}
asm(".symver clock_gettime_of_first, clock_gettime@" FIRST_VERSION);
asm(".symver clock_gettime_of_2_17, clock_gettime@GLIBC_2.17");
asm(".symver clock_getres_of_first, clock_getres@" FIRST_VERSION);

int main() {
  using namespace vvarclock::process;
  begin();
  require_from_library("clock_gettime@" FIRST_VERSION,
                       reinterpret_cast<const void*>(&clock_gettime_of_first));
  require_from_library("clock_gettime@GLIBC_2.17",
                       reinterpret_cast<const void*>(&clock_gettime_of_2_17));
  require_from_library("clock_getres@" FIRST_VERSION,
                       reinterpret_cast<const void*>(&clock_getres_of_first));
  for (const char* const name :
       {"clock_gettime", "gettimeofday", "time", "clock_getres", "timespec_get"}) {
    require_from_library(name, dlsym(RTLD_DEFAULT, name));
  }
  expect_all_bracketed("", 1000);
  return 0;
}
