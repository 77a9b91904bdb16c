// Multiplications whose product does not fit 64 bits, in the machine's own form and in 32-bit
// pieces.
//
// The machine's form is one or two instructions on a 64-bit CPU. The form in pieces needs no 64-bit
// multiply and no library call, so it is the one for 32-bit code; both are always compiled, and the
// tests hold them against each other.
//
// Pure; depends on halves.h and int128.h.
#pragma once

#include <cstdint>

#include "arch/halves.h"
#include "arch/int128.h"

namespace vvarclock::arch {

// (a * b) >> 32, exact modulo 2^64, from 32 x 32 -> 64 multiplies.
[[nodiscard]] constexpr std::uint64_t mul_64x32_shift32_pieces(std::uint64_t a,
                                                               std::uint32_t b) noexcept {
  return static_cast<std::uint64_t>(plus(product(high_half(a), b), product(low_half(a), b).high));
}

// The high 64 bits of a * b, from four 32 x 32 -> 64 multiplies. Each sum holds, here and below:
// (2^32 - 1)^2 + 2 (2^32 - 1) < 2^64.
[[nodiscard]] constexpr std::uint64_t mul_64x64_high_pieces(std::uint64_t a,
                                                            std::uint64_t b) noexcept {
  const Halves first = product(low_half(a), low_half(b));
  const Halves middle = plus(product(high_half(a), low_half(b)), first.high);
  const Halves cross = plus(product(low_half(a), high_half(b)), middle.low);
  const Halves rest = plus(product(high_half(a), high_half(b)), middle.high);
  return static_cast<std::uint64_t>(plus(rest, cross.high));
}

// (a * b + high:low) >> 60, modulo 2^64, from four 32 x 32 -> 64 multiplies.
[[nodiscard]] constexpr std::uint64_t mul_add_shift60_pieces(std::uint64_t a, std::uint64_t b,
                                                             std::uint64_t low,
                                                             std::uint64_t high) noexcept {
  const Halves first = plus(product(low_half(a), low_half(b)), low_half(low));
  const Halves middle = plus(plus(product(high_half(a), low_half(b)), high_half(low)), first.high);
  const Halves cross = plus(product(low_half(a), high_half(b)), middle.low);
  const Halves rest = plus(plus(product(high_half(a), high_half(b)), middle.high), cross.high);
  // What is above bit 123 falls off.
  return (static_cast<std::uint64_t>(rest) + high) << 4 | cross.low >> 28;
}

#ifdef __SIZEOF_INT128__
[[nodiscard]] constexpr std::uint64_t mul_64x32_shift32(std::uint64_t a, std::uint32_t b) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(a) * b) >> 32);
}

[[nodiscard]] constexpr std::uint64_t mul_64x64_high(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(a) * b) >> 64);
}

[[nodiscard]] constexpr std::uint64_t mul_add_shift60(std::uint64_t a, std::uint64_t b,
                                                      std::uint64_t low,
                                                      std::uint64_t high) noexcept {
  return static_cast<std::uint64_t>(
      (static_cast<Uint128>(a) * b + (static_cast<Uint128>(high) << 64 | low)) >> 60);
}
#else
[[nodiscard]] constexpr std::uint64_t mul_64x32_shift32(std::uint64_t a, std::uint32_t b) noexcept {
  return mul_64x32_shift32_pieces(a, b);
}

[[nodiscard]] constexpr std::uint64_t mul_64x64_high(std::uint64_t a, std::uint64_t b) noexcept {
  return mul_64x64_high_pieces(a, b);
}

[[nodiscard]] constexpr std::uint64_t mul_add_shift60(std::uint64_t a, std::uint64_t b,
                                                      std::uint64_t low,
                                                      std::uint64_t high) noexcept {
  return mul_add_shift60_pieces(a, b, low, high);
}
#endif

}  // namespace vvarclock::arch
