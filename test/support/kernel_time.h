// What the kernel that runs the test answers, by system call, in nanoseconds.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/support/catch.h"

namespace vvarclock::test {

inline long long in_ns(const timespec& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

inline long long kernel_ns(clockid_t id) {
  timespec time{};
  REQUIRE(syscall(SYS_clock_gettime, id, &time) == 0);
  return in_ns(time);
}

}  // namespace vvarclock::test
