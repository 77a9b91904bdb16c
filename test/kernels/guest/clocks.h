// The clocks as a guest program sees them: through the library (or libc, without it) and through
// the bare system call.
//
// Depends on libc and on the clock ids of core/vvar. 64-bit seconds throughout; the calls with
// 32-bit seconds are in widths.h. Promises nothing about which way the library takes.
#pragma once

#include <dlfcn.h>
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/vvar/clock_id.h"
#include "test/kernels/guest/result.h"
#include "test/kernels/guest/widths.h"

namespace guest {

using vvarclock::vvar::kServedClocks;
using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kSecond = 1'000'000'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;

template <class Word>
constexpr Nanoseconds in_ns(const Pair<Word>& t) noexcept {
  return t.sec * kSecond + t.sub;
}

inline Nanoseconds by_syscall(clockid_t id) noexcept {
  Pair<std::int64_t> t;
  return kernel_clock_gettime(id, t) == 0 ? in_ns(t) : -1;
}

// Through whatever the loader bound clock_gettime to, or __clock_gettime64.
inline Nanoseconds by_call(clockid_t id) noexcept {
  Pair<std::int64_t> t;
  return WideCalls::clock_gettime(id, &t) == 0 ? in_ns(t) : -1;
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

// The object that answers a width's clock_gettime in this process; "" when unknown.
template <class Calls>
const char* clock_gettime_object() noexcept {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(Calls::clock_gettime), &info) != 0 &&
                 info.dli_fname != nullptr
             ? info.dli_fname
             : "";
}

// Fails, naming who answers, when a width's clock_gettime is not the library's.
inline void expect_library(Result& result) {
  for_each_width([&]<class Calls>(Calls) {
    const char* const object = clock_gettime_object<Calls>();
    if (std::strstr(object, "libvvarclock.so") == nullptr) {
      result.fail("clock_gettime%s is answered by %s", Calls::kName, object);
    }
  });
}

// The order that this run was started with, for the result line and for what may be asked of
// threads.
inline const char* order_name() noexcept {
  const char* const order = std::getenv("VVARCLOCK_ORDER");
  return order == nullptr ? "default" : order;
}
inline bool order_is_ordered() noexcept { return std::strcmp(order_name(), "unordered") != 0; }

}  // namespace guest
