// A time in the form that the caller asked for: libc's types of the width that it was compiled
// with.
//
// On 64-bit machines there is one width. On 32-bit machines there are two, and a call whose seconds
// 32 bits cannot hold (after January 2038) fails with EOVERFLOW, as glibc has it since 2.34.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <concepts>
#include <cstdint>

#include "arch/halves.h"
#include "arch/x86/raw_syscall.h"
#include "core/vvar/cycles_to_ns.h"

namespace vvarclock::serve {

// Callers by the width of their seconds: libc's own types, and 64 bits (_TIME_BITS=64), which on
// 32-bit machines have names of their own and on 64-bit ones are the same.
struct OwnWidth {
  using Timespec = timespec;
  using Timeval = timeval;
  using Sec = time_t;
};
struct WideWidth {
  using Timespec = arch::Timespec64;
  using Timeval = arch::Timeval64;
  using Sec = std::int64_t;
};
inline constexpr bool kTwoWidths = arch::kTwoRegisters;

template <class T>
concept AnyTimespec = std::same_as<T, timespec> || std::same_as<T, arch::Timespec64>;
template <class T>
concept AnyTimeval = std::same_as<T, timeval> || std::same_as<T, arch::Timeval64>;

// Does Sec, a signed integer, hold these seconds?
template <class Sec>
[[nodiscard]] constexpr bool fits(arch::Halves sec) noexcept {
  return sizeof(Sec) > sizeof sec.low ||
         static_cast<std::int32_t>(sec.high) == static_cast<std::int32_t>(sec.low) >> 31;
}
template <class Sec>
[[nodiscard]] constexpr bool fits(std::uint64_t sec) noexcept {
  return sizeof(Sec) == sizeof sec || fits<Sec>(arch::Halves(sec));
}

// False: the seconds do not fit, and nothing is written.
template <AnyTimespec T, vvar::AnyTime Time>
[[nodiscard, gnu::always_inline]] inline bool store(T* out, const Time& time) noexcept {
  using Sec = decltype(out->tv_sec);
  if (!fits<Sec>(time.sec)) [[unlikely]] {
    return false;
  }
  out->tv_sec = static_cast<Sec>(static_cast<std::uint64_t>(time.sec));
  out->tv_nsec = static_cast<decltype(out->tv_nsec)>(time.nsec);
  return true;
}

template <AnyTimeval T, vvar::AnyTime Time>
[[nodiscard, gnu::always_inline]] inline bool store(T* out, const Time& time) noexcept {
  using Sec = decltype(out->tv_sec);
  if (!fits<Sec>(time.sec)) [[unlikely]] {
    return false;
  }
  out->tv_sec = static_cast<Sec>(static_cast<std::uint64_t>(time.sec));
  out->tv_usec = static_cast<decltype(out->tv_usec)>(static_cast<std::uint32_t>(time.nsec) / 1000);
  return true;
}

// What glibc gives wide callers on 32-bit machines for a time zone.
inline void clear_zone(void* zone) noexcept {
  if (zone != nullptr) {
    *static_cast<struct timezone*>(zone) = {};
  }
}

}  // namespace vvarclock::serve
