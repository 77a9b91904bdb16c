// Cycles -> nanoseconds: delta, mult, shift, and the carry into seconds.
//
// The kernel's rule: ns = (base + delta * mult) >> shift, where base and the product are
// nanoseconds shifted left by shift. A negative delta counts as 0 (CPUs' counters differ by a few
// ticks, and an unordered read may be older than the page). A delta too large for 64 bits is
// multiplied wide (a virtual machine that was paused for minutes).
//
// Pure.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "arch/halves.h"
#include "arch/wide_multiply.h"

namespace vvarclock::vvar {

inline constexpr std::uint32_t kNsPerSec = 1'000'000'000;

struct SecNsec {
  std::uint64_t sec;
  std::uint64_t nsec;
};

// What the hot path hands over: less than a second of nanoseconds, which one register holds.
struct ShortTime {
  arch::Halves sec{0, 0};
  std::uint32_t nsec = 0;
};
using HotTime = std::conditional_t<arch::kTwoRegisters, ShortTime, SecNsec>;

template <class Time>
concept AnyTime = std::same_as<Time, SecNsec> || std::same_as<Time, ShortTime>;

// nsec is less than a second.
constexpr void set(SecNsec& time, std::uint64_t sec, std::uint64_t nsec) noexcept {
  time = {sec, nsec};
}
constexpr void set(SecNsec& time, arch::Halves sec, std::uint32_t nsec) noexcept {
  time = {static_cast<std::uint64_t>(sec), nsec};
}
constexpr void set(ShortTime& time, arch::Halves sec, std::uint32_t nsec) noexcept {
  time = {sec, nsec};
}
constexpr void set(ShortTime& time, std::uint64_t sec, std::uint64_t nsec) noexcept {
  time = {arch::Halves(sec), arch::low_half(nsec)};
}

using arch::kTwoRegisters;

// Below this, delta * mult + base cannot overflow: delta < 2^31, mult < 2^32, base < 2^30 << 32.
constexpr bool is_narrow(std::uint64_t delta) noexcept { return (delta >> 31) == 0; }

// For a delta that is_narrow: its low half is all of it.
constexpr std::uint64_t narrow_ns(std::uint32_t delta, std::uint32_t mult, std::uint32_t shift,
                                  std::uint64_t base) noexcept {
  return (std::uint64_t{delta} * mult + base) >> (shift & 63U);
}

// Any delta: negative (as a signed number) counts as 0, large ones are exact to 96 bits before the
// shift. The result is taken modulo 2^64 nanoseconds (584 years).
constexpr std::uint64_t wide_ns(std::uint64_t delta, std::uint32_t mult, std::uint32_t shift,
                                std::uint64_t base) noexcept {
  const std::uint64_t forward = static_cast<std::int64_t>(delta) < 0 ? 0 : delta;
  // In 32-bit halves, so that 32-bit machines use the same code: forward * mult + base = high:low,
  // low being 32 bits.
  const std::uint64_t low = (forward & 0xffffffffU) * mult + (base & 0xffffffffU);
  const std::uint64_t high = (forward >> 32) * mult + (base >> 32) + (low >> 32);
  const std::uint32_t bits = shift & 63U;
  if (bits >= 32) {
    return high >> (bits - 32);
  }
  return (high << (32 - bits)) + ((low & 0xffffffffU) >> bits);
}

// Carries at most one second, which is all that a delta of one tick can need. False: there is more
// to carry.
constexpr bool carry_one(SecNsec& time) noexcept {
  if (time.nsec >= kNsPerSec) [[unlikely]] {
    time = {time.sec + 1, time.nsec - kNsPerSec};
    return time.nsec < kNsPerSec;
  }
  return true;
}

// ns / 10^9. Where a number is two registers a division is a library call; there it is the
// multiplication by 2^75 / (10^9 / 2^9), rounded up: too large by 399807 / 2^75 of it at most,
// which no ns / 2^9 (55 bits) is large enough to show.
constexpr std::uint64_t whole_seconds_by_reciprocal(std::uint64_t ns) noexcept {
  constexpr std::uint64_t kReciprocal = 0x44b82fa09b5a53;
  return arch::mul_64x64_high(ns >> 9, kReciprocal) >> 11;
}
constexpr std::uint64_t whole_seconds(std::uint64_t ns) noexcept {
  return kTwoRegisters ? whole_seconds_by_reciprocal(ns) : ns / kNsPerSec;
}

// Whole seconds out of any number of nanoseconds.
constexpr void split(std::uint64_t ns, AnyTime auto& time) noexcept {
  const std::uint64_t sec = whole_seconds(ns);
  if constexpr (kTwoRegisters) {
    // What is left is less than 2^30, so the low halves tell it.
    set(time, arch::Halves(sec), arch::low_half(ns) - arch::low_half(sec) * kNsPerSec);
  } else {
    set(time, sec, ns - sec * kNsPerSec);
  }
}

// The same added to seconds.
constexpr SecNsec carry(std::uint64_t sec, std::uint64_t nsec) noexcept {
  SecNsec time{};
  split(nsec, time);
  return {sec + time.sec, time.nsec};
}

// Time + an offset of a time namespace: offset_sec is signed (two's complement), offset_nsec is 0
// .. 999'999'999.
constexpr SecNsec add_offset(SecNsec time, std::uint64_t offset_sec,
                             std::uint64_t offset_nsec) noexcept {
  return carry(time.sec + offset_sec, time.nsec + offset_nsec);
}

}  // namespace vvarclock::vvar
