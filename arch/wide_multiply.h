// Multiplications whose product does not fit 64 bits, in the machine's own form and in 32-bit
// pieces.
//
// The machine's form is one or two instructions on a 64-bit CPU. The form in pieces needs no 64-bit
// multiply and no library call, so it is the one for 32-bit code; both are always compiled, and the
// tests hold them against each other.
//
// Pure; depends on int128.h.
#pragma once

#include <cstdint>

#include "arch/int128.h"

namespace vvarclock::arch {

// (a * b) >> 32, exact modulo 2^64, from 32 x 32 -> 64 multiplies.
[[nodiscard]] constexpr std::uint64_t mul_64x32_shift32_pieces(std::uint64_t a,
                                                               std::uint32_t b) noexcept {
  const std::uint64_t low = (a & 0xffffffffU) * b;
  const std::uint64_t high = (a >> 32) * b;
  return high + (low >> 32);
}

// The high 64 bits of a * b, from four 32 x 32 -> 64 multiplies.
[[nodiscard]] constexpr std::uint64_t mul_64x64_high_pieces(std::uint64_t a,
                                                            std::uint64_t b) noexcept {
  const std::uint64_t a_low = a & 0xffffffffU;
  const std::uint64_t a_high = a >> 32;
  const std::uint64_t b_low = b & 0xffffffffU;
  const std::uint64_t b_high = b >> 32;
  const std::uint64_t middle = a_high * b_low + ((a_low * b_low) >> 32);
  const std::uint64_t middle_low = (middle & 0xffffffffU) + a_low * b_high;
  return a_high * b_high + (middle >> 32) + (middle_low >> 32);
}

#ifdef __SIZEOF_INT128__
[[nodiscard]] constexpr std::uint64_t mul_64x32_shift32(std::uint64_t a, std::uint32_t b) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(a) * b) >> 32);
}

[[nodiscard]] constexpr std::uint64_t mul_64x64_high(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(a) * b) >> 64);
}
#else
[[nodiscard]] constexpr std::uint64_t mul_64x32_shift32(std::uint64_t a, std::uint32_t b) noexcept {
  return mul_64x32_shift32_pieces(a, b);
}

[[nodiscard]] constexpr std::uint64_t mul_64x64_high(std::uint64_t a, std::uint64_t b) noexcept {
  return mul_64x64_high_pieces(a, b);
}
#endif

}  // namespace vvarclock::arch
