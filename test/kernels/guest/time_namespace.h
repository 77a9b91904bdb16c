// Entering a time namespace: the caller's children are in it, the caller itself is not.
//
// Depends on libc and a kernel with time namespaces (5.6 and later); needs root.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>

#include "test/kernels/guest/clocks.h"

namespace guest {

inline constexpr int kCloneNewTime =
    0x80;  // CLONE_NEWTIME of linux/sched.h; libc headers may be older

// MONOTONIC goes back by a tenth of a second (a guest has just booted: more would make it
// negative), BOOTTIME goes three years ahead.
inline constexpr char kNamespaceOffsets[] =
    "monotonic -1 900000000\nboottime 100000000 999999999\n";
inline constexpr Nanoseconds kLeastBootOffset = 100'000'000 * kSecond;

inline bool unshare_time() noexcept {
  if (unshare(kCloneNewTime) != 0) {
    return false;
  }
  const int file = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
  const auto size = static_cast<ssize_t>(std::strlen(kNamespaceOffsets));
  const bool written =
      file >= 0 && write(file, kNamespaceOffsets, std::strlen(kNamespaceOffsets)) == size;
  close(file);
  return written;
}

// Is the caller in the namespace that unshare_time set up? Asks the kernel alone.
inline bool in_unshared_time() noexcept {
  return by_syscall(CLOCK_BOOTTIME) - by_syscall(CLOCK_MONOTONIC) > kLeastBootOffset;
}

}  // namespace guest
