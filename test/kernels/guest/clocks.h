// The clocks as a guest program sees them: through the library (or libc, without it) and through
// the bare system call.
//
// Depends on libc and on the clock ids of core/vvar. Promises nothing about which way the library
// takes.
#pragma once

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/vvar/clock_id.h"

namespace guest {

using vvarclock::vvar::kServedClocks;
using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kSecond = 1'000'000'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;

inline Nanoseconds in_ns(const timespec& t) noexcept { return t.tv_sec * kSecond + t.tv_nsec; }

inline Nanoseconds by_syscall(clockid_t id) noexcept {
  timespec t{};
  return syscall(SYS_clock_gettime, id, &t) == 0 ? in_ns(t) : -1;
}

// Through whatever the loader bound clock_gettime to.
inline Nanoseconds by_call(clockid_t id) noexcept {
  timespec t{};
  return clock_gettime(id, &t) == 0 ? in_ns(t) : -1;
}

struct Bracket {
  Nanoseconds before;
  Nanoseconds value;
  Nanoseconds after;

  [[nodiscard]] bool holds() const noexcept { return before <= value && value <= after; }
};

inline Bracket bracket(clockid_t id) noexcept {
  Bracket b{};
  b.before = by_syscall(id);
  b.value = by_call(id);
  b.after = by_syscall(id);
  return b;
}

// The object that answers clock_gettime in this process; "" when unknown.
inline const char* clock_gettime_object() noexcept {
  Dl_info info{};
  void* const function = dlsym(RTLD_DEFAULT, "clock_gettime");
  return function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : "";
}

inline bool library_is_loaded() noexcept {
  return std::strstr(clock_gettime_object(), "libvvarclock.so") != nullptr;
}

// The order that this run was started with, for the result line and for what may be asked of
// threads.
inline const char* order_name() noexcept {
  const char* const order = std::getenv("VVARCLOCK_ORDER");
  return order == nullptr ? "default" : order;
}
inline bool order_is_ordered() noexcept { return std::strcmp(order_name(), "unordered") != 0; }

}  // namespace guest
