// Guards: the answer without a page must be the kernel's own, result and errno, and leave errno
// alone on success.
#include "core/serve/fallback.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/support/catch.h"

using Fallback = vvarclock::serve::fallback::For<vvarclock::serve::OwnWidth>;

TEST_CASE("clock_gettime and clock_getres answer for every id as the system call does") {
  for (int id = -64; id <= 64; ++id) {
    INFO("id " << id);
    timespec own{};
    timespec kernel{};
    errno = 0;
    const long expected = syscall(SYS_clock_gettime, id, &kernel);
    const int expected_errno = errno;
    errno = 0;
    CHECK(Fallback::clock_gettime(id, &own) == expected);
    CHECK(errno == expected_errno);

    errno = 0;
    const long expected_resolution = syscall(SYS_clock_getres, id, &kernel);
    const int expected_resolution_errno = errno;
    errno = 0;
    CHECK(Fallback::clock_getres(id, &own) == expected_resolution);
    CHECK(errno == expected_resolution_errno);
    if (expected_resolution == 0) {
      CHECK(own.tv_nsec == kernel.tv_nsec);
    }
  }
}

TEST_CASE("errno is left alone on success and set on failure") {
  timespec time{};
  errno = 4711;
  CHECK(Fallback::clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  CHECK(Fallback::gettimeofday(nullptr, nullptr) == 0);
  CHECK(Fallback::time(nullptr) > 0);
  CHECK(errno == 4711);
  CHECK(Fallback::clock_gettime(12345, nullptr) == -1);
  CHECK(errno == EINVAL);
#ifdef __x86_64__  // on 32-bit machines a bad pointer is a fault of the program, as in glibc
  CHECK(Fallback::gettimeofday(reinterpret_cast<timeval*>(1), nullptr) == -1);
  CHECK(errno == EFAULT);
  errno = 0;
  CHECK(Fallback::time(reinterpret_cast<time_t*>(1)) == -1);
  CHECK(errno == EFAULT);
#endif
}

TEST_CASE("timespec_get knows the bases that the running libc knows") {
  const auto libc = reinterpret_cast<int (*)(timespec*, int)>(dlsym(RTLD_DEFAULT, "timespec_get"));
  REQUIRE(libc != nullptr);
  for (int base = -2; base <= 20; ++base) {
    INFO("base " << base);
    timespec own{};
    timespec other{};
    CHECK(Fallback::timespec_get(&own, base) == libc(&other, base));
  }
}
