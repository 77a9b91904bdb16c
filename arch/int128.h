// Integers of 128 bits: the compiler's own where it has them, and two 64-bit words elsewhere
// (32-bit machines).
//
// The form in words has the operations that this project needs, modulo 2^128, two's complement,
// with the signs and roundings of the language's own integers. It calls no library function and
// divides bit by bit, so divisions do not belong on the hot path. Both forms are always compiled,
// and the tests hold them against each other. Pure; depends on nothing.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

namespace vvarclock::arch {

template <bool Signed>
class Words128 {
 public:
  constexpr Words128() noexcept = default;
  template <std::integral T>
  constexpr Words128(T value) noexcept  // NOLINT(google-explicit-constructor): as integers convert
      : low_(static_cast<std::uint64_t>(value)), high_(value < T{} ? ~std::uint64_t{0} : 0) {}
  constexpr explicit Words128(const Words128<!Signed>& other) noexcept
      : low_(static_cast<std::uint64_t>(other)), high_(static_cast<std::uint64_t>(other >> 64)) {}

  template <std::integral T>
  constexpr explicit operator T() const noexcept {
    return static_cast<T>(low_);
  }

  friend constexpr Words128 operator+(const Words128& a, const Words128& b) noexcept {
    const std::uint64_t low = a.low_ + b.low_;
    return {low, a.high_ + b.high_ + (low < a.low_ ? 1 : 0)};
  }
  friend constexpr Words128 operator-(const Words128& a, const Words128& b) noexcept {
    return {a.low_ - b.low_, a.high_ - b.high_ - (a.low_ < b.low_ ? 1 : 0)};
  }
  constexpr Words128 operator-() const noexcept { return Words128{} - *this; }

  friend constexpr Words128 operator*(const Words128& a, const Words128& b) noexcept {
    constexpr std::uint64_t kLow = 0xffffffffU;
    const std::uint64_t a0 = a.low_ & kLow;
    const std::uint64_t a1 = a.low_ >> 32;
    const std::uint64_t b0 = b.low_ & kLow;
    const std::uint64_t b1 = b.low_ >> 32;
    const std::uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
    const std::uint64_t cross = a0 * b1 + (middle & kLow);
    return {(cross << 32) | ((a0 * b0) & kLow),
            a1 * b1 + (middle >> 32) + (cross >> 32) + a.low_ * b.high_ + a.high_ * b.low_};
  }

  friend constexpr Words128 operator<<(const Words128& a, unsigned bits) noexcept {
    if (bits == 0) {
      return a;
    }
    if (bits >= 64) {
      return {0, a.low_ << (bits - 64)};
    }
    return {a.low_ << bits, (a.high_ << bits) | (a.low_ >> (64 - bits))};
  }
  friend constexpr Words128 operator>>(const Words128& a, unsigned bits) noexcept {
    if (bits == 0) {
      return a;
    }
    if (bits >= 64) {
      return {shift_high(a.high_, bits - 64), shift_high(shift_high(a.high_, 63), 1)};
    }
    return {(a.low_ >> bits) | (a.high_ << (64 - bits)), shift_high(a.high_, bits)};
  }

  // Rounds towards zero. The divisor must not be 0.
  friend constexpr Words128 operator/(const Words128& a, const Words128& b) noexcept {
    const Words128 quotient = divide(a.is_negative() ? -a : a, b.is_negative() ? -b : b);
    return a.is_negative() != b.is_negative() ? -quotient : quotient;
  }

  friend constexpr Words128 operator%(const Words128& a, const Words128& b) noexcept {
    return a - a / b * b;
  }

  friend constexpr bool operator==(const Words128&, const Words128&) noexcept = default;
  friend constexpr std::strong_ordering operator<=>(const Words128& a, const Words128& b) noexcept {
    if (a.high_ != b.high_) {
      return as_ordered(a.high_) <=> as_ordered(b.high_);
    }
    return a.low_ <=> b.low_;
  }

 private:
  constexpr Words128(std::uint64_t low, std::uint64_t high) noexcept : low_(low), high_(high) {}

  [[nodiscard]] constexpr bool is_negative() const noexcept { return Signed && high_ >> 63 != 0; }
  static constexpr auto as_ordered(std::uint64_t high) noexcept {
    if constexpr (Signed) {
      return static_cast<std::int64_t>(high);
    } else {
      return high;
    }
  }
  static constexpr std::uint64_t shift_high(std::uint64_t high, unsigned bits) noexcept {
    return static_cast<std::uint64_t>(as_ordered(high) >> bits);
  }
  // Of numbers without sign, bit by bit.
  static constexpr Words128 divide(const Words128& a, const Words128& b) noexcept {
    Words128 quotient;
    Words128 rest;
    for (unsigned bit = 128; bit-- != 0;) {
      const std::uint64_t word = bit >= 64 ? a.high_ : a.low_;
      const bool carried = rest.high_ >> 63 != 0;
      rest = rest << 1;
      rest.low_ |= (word >> (bit & 63U)) & 1U;
      const bool fits =
          carried || rest.high_ > b.high_ || (rest.high_ == b.high_ && rest.low_ >= b.low_);
      if (fits) {
        rest = rest - b;
        (bit >= 64 ? quotient.high_ : quotient.low_) |= std::uint64_t{1} << (bit & 63U);
      }
    }
    return quotient;
  }

  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

#ifdef __SIZEOF_INT128__
__extension__ using Uint128 = unsigned __int128;
__extension__ using Int128 = __int128;
#else
using Uint128 = Words128<false>;
using Int128 = Words128<true>;
#endif

}  // namespace vvarclock::arch
