// 64-bit numbers as two 32-bit registers, for machines where that is what they are.
//
// A compiler that is given 64-bit operations there keeps pairs of registers together and moves them
// to and fro; given halves it needs about half the instructions. The results are those of the
// 64-bit operations. Every form is compiled on every machine, and the tests hold them against
// 64-bit integers.
//
// Operands in memory are read once, as by load.h. Pure; depends on load.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arch/load.h"

namespace vvarclock::arch {

inline constexpr bool kTwoRegisters = sizeof(void*) < sizeof(std::uint64_t);

struct Halves {
  std::uint32_t low;
  std::uint32_t high;

  constexpr Halves(std::uint32_t low_word, std::uint32_t high_word) noexcept
      : low(low_word), high(high_word) {}
  constexpr explicit Halves(std::uint64_t value) noexcept
      : low(static_cast<std::uint32_t>(value)), high(static_cast<std::uint32_t>(value >> 32)) {}

  constexpr explicit operator std::uint64_t() const noexcept {
    return std::uint64_t{high} << 32 | low;
  }
  friend constexpr bool operator==(const Halves&, const Halves&) noexcept = default;
};

constexpr std::uint32_t low_half(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high_half(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value >> 32);
}
constexpr std::uint32_t low_half(const Halves& value) noexcept { return value.low; }
constexpr std::uint32_t high_half(const Halves& value) noexcept { return value.high; }

[[gnu::always_inline]] inline Halves load_halves(const std::byte* field) noexcept {
  const auto low = load<std::uint32_t>(field);
  return {low, load<std::uint32_t>(field + sizeof low)};
}

// A 64-bit word that belongs to no sequence section, and whose high half seldom changes: should it
// change in between, the word is read anew, once. Only on 64-bit machines it is one load.
[[gnu::always_inline]] inline std::uint64_t load_whole(const std::byte* field) noexcept {
  if constexpr (!kTwoRegisters) {
    return load<std::uint64_t>(field);
  }
  const std::byte* const high = field + sizeof(std::uint32_t);
  const auto first = load<std::uint32_t>(high);
  Halves value(load<std::uint32_t>(field), 0);
  value.high = load<std::uint32_t>(high);
  if (value.high != first) [[unlikely]] {
    value.low = load<std::uint32_t>(field);
  }
  return static_cast<std::uint64_t>(value);
}

// value - the 64-bit number in memory.
[[gnu::always_inline]] inline Halves minus(Halves value, const std::byte* field) noexcept {
#ifdef __i386__
  const auto* const words = reinterpret_cast<const std::uint32_t*>(field);
  asm volatile("sub %[low_word], %[low]\n\tsbb %[high_word], %[high]"
               : [low] "+&r"(value.low), [high] "+r"(value.high)
               : [low_word] "m"(words[0]), [high_word] "m"(words[1])
               : "cc");
  return value;
#else
  const Halves other = load_halves(field);
  return {value.low - other.low, value.high - other.high - (value.low < other.low ? 1U : 0U)};
#endif
}

// value + the 64-bit number in memory.
[[gnu::always_inline]] inline Halves plus(Halves value, const std::byte* field) noexcept {
#ifdef __i386__
  const auto* const words = reinterpret_cast<const std::uint32_t*>(field);
  asm volatile("add %[low_word], %[low]\n\tadc %[high_word], %[high]"
               : [low] "+&r"(value.low), [high] "+r"(value.high)
               : [low_word] "m"(words[0]), [high_word] "m"(words[1])
               : "cc");
  return value;
#else
  const Halves other = load_halves(field);
  const std::uint32_t sum = value.low + other.low;
  return {sum, value.high + other.high + (sum < other.low ? 1U : 0U)};
#endif
}

// The low half of value >> bits. bits: 0 .. 31, which is what spares the branch.
[[gnu::always_inline]] inline std::uint32_t shifted_right(Halves value,
                                                          std::uint32_t bits) noexcept {
#ifdef __i386__
  asm("shrd %%cl, %[high], %[low]"
      : [low] "+r"(value.low)
      : [high] "r"(value.high), "c"(bits)
      : "cc");
  return value.low;
#else
  return value.low >> bits | (value.high << 1) << (31 - bits);
#endif
}

// value << bits, cut to 64 bits. bits: 0 .. 31.
[[gnu::always_inline]] inline Halves shifted_left(Halves value, std::uint32_t bits) noexcept {
#ifdef __i386__
  asm("shld %%cl, %[low], %[high]"
      : [high] "+r"(value.high)
      : [low] "r"(value.low), "c"(bits)
      : "cc");
  return {value.low << bits, value.high};
#else
  return {value.low << bits, value.high << bits | (value.low >> 1) >> (31 - bits)};
#endif
}

// value + word.
[[gnu::always_inline]] constexpr Halves plus(Halves value, std::uint32_t word) noexcept {
#ifdef __i386__
  if (!std::is_constant_evaluated()) {
    asm("add %[word], %[low]\n\tadc $0, %[high]"
        : [low] "+&r"(value.low), [high] "+r"(value.high)
        : [word] "rm"(word)
        : "cc");
    return value;
  }
#endif
  const std::uint32_t sum = value.low + word;
  return {sum, value.high + (sum < word ? 1U : 0U)};
}

// a * b, in one instruction. A compiler that is given two zero-extended numbers and runs out of
// registers multiplies the zeros too.
[[gnu::always_inline]] constexpr Halves product(std::uint32_t a, std::uint32_t b) noexcept {
#ifdef __i386__
  if (!std::is_constant_evaluated()) {
    std::uint32_t high;
    asm("mull %[b]" : "+a"(a), "=d"(high) : [b] "rm"(b) : "cc");
    return {a, high};
  }
#endif
  return Halves(std::uint64_t{a} * b);
}

}  // namespace vvarclock::arch
