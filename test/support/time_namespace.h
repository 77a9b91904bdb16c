// Entering a time namespace: the caller's children are in it, the caller itself is not.
//
// Needs root or user namespaces, and a kernel with time namespaces (5.6 and later). Depends on
// test/support/process.h.
#pragma once

#include <fcntl.h>
#include <sched.h>

#include <cstdint>

#include "test/support/process.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace vvarclock::process {

struct Offsets {
  const char* name;
  std::int64_t monotonic_sec;
  std::int64_t monotonic_ns;
  std::int64_t boottime_sec;
  std::int64_t boottime_ns;
};

inline int unshare_time() {
  if (unshare(CLONE_NEWTIME) == 0) {
    return 0;
  }
  return unshare(CLONE_NEWUSER | CLONE_NEWTIME);
}

// Tried in a child, so that the caller stays where it is.
inline bool can_unshare_time() {
  const int status = run_in_child([] { _exit(unshare_time() == 0 ? 0 : kSkipStatus); });
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline constexpr const char* kNoTimeNamespace =
    "no new time namespace: needs root (or user namespaces) and Linux 5.6";

// Children forked from now on live in a new time namespace.
inline void prepare(const Offsets& offsets) {
  expect(unshare_time() == 0, "unshare(CLONE_NEWTIME): %s", std::strerror(errno));
  const int file = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
  expect(file >= 0, "/proc/self/timens_offsets: %s", std::strerror(errno));
  std::array<char, 160> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "monotonic %lld %lld\nboottime %lld %lld\n",
      static_cast<long long>(offsets.monotonic_sec), static_cast<long long>(offsets.monotonic_ns),
      static_cast<long long>(offsets.boottime_sec), static_cast<long long>(offsets.boottime_ns));
  expect(write(file, text.data(), static_cast<std::size_t>(length)) == length, "offsets %s: %s",
         offsets.name, std::strerror(errno));
  close(file);
}

}  // namespace vvarclock::process
