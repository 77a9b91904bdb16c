// The kernel's choice of mult and shift for a clock source, and of the largest delta that it
// multiplies in 64 bits.
//
// Rule (kernel/time/clocksource.c, unchanged from 3.10 to 7.3): the largest shift up to 32 for
// which 600 seconds of cycles, times mult, still fit 64 bits; mult is the rounded quotient. The TSC
// is registered in whole kHz; pvclock counts 1 GHz and the Hyper-V page 10 MHz, both exactly. So
// few pairs are possible, which makes this a sharp test for a layout.
//
// Pure.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "arch/x86/clock_mode.h"

namespace vvarclock::vvar {

struct MultShift {
  std::uint32_t mult;
  std::uint32_t shift;
  constexpr bool operator==(const MultShift&) const noexcept = default;
};

// For a clock source of `khz` kilohertz (1 .. 2^32-1).
constexpr MultShift expected_mult_shift(std::uint32_t khz) noexcept {
  constexpr std::uint64_t kSpanMs = 600'000;
  const int mult_bits = 32 - static_cast<int>(std::bit_width((kSpanMs * khz) >> 32));
  for (std::uint32_t shift = 32; shift > 0; --shift) {
    const std::uint64_t mult = ((std::uint64_t{1'000'000} << shift) + khz / 2) / khz;
    if (mult_bits > 0 && (mult >> mult_bits) == 0) {
      return {static_cast<std::uint32_t>(mult), shift};
    }
  }
  return {0, 0};
}

// The nearest frequency in kHz; 0 when none fits 32 bits.
constexpr std::uint32_t khz_of(MultShift found) noexcept {
  if (found.mult == 0 || found.shift > 32) {
    return 0;
  }
  const std::uint64_t khz =
      ((std::uint64_t{1'000'000} << found.shift) + found.mult / 2) / found.mult;
  return khz >> 32 == 0 ? static_cast<std::uint32_t>(khz) : 0;
}

inline constexpr std::uint32_t kPvclockKhz = 1'000'000;
inline constexpr std::uint32_t kHvclockKhz = 10'000;
inline constexpr std::uint32_t kLowestTscKhz = 200'000;
inline constexpr std::uint32_t kHighestTscKhz = 20'000'000;

// A frequency for which the kernel chooses this pair; 0 when there is none. Above 4 GHz several
// frequencies share a mult, and where the 600 seconds take one bit more, the kernel's shift for the
// nearest of them may be another than for the first or the last.
constexpr std::uint32_t khz_of_choice(MultShift raw) noexcept {
  if (raw.mult == 0 || raw.shift > 32) {
    return 0;
  }
  const std::uint64_t twice = std::uint64_t{2'000'000} << raw.shift;
  const std::uint64_t first = twice / (std::uint64_t{2} * raw.mult + 1);
  const std::uint64_t last = twice / (std::uint64_t{2} * raw.mult - 1);
  for (const std::uint64_t khz : {std::uint64_t{khz_of(raw)}, first, first + 1, last, last + 1}) {
    if (khz != 0 && khz >> 32 == 0 && expected_mult_shift(static_cast<std::uint32_t>(khz)) == raw) {
      return static_cast<std::uint32_t>(khz);
    }
  }
  return 0;
}

// Is this a raw mult and shift that the kernel can have chosen in this clock mode?
constexpr bool is_kernels_choice(MultShift raw, arch::ClockMode mode) noexcept {
  const std::uint32_t khz = khz_of_choice(raw);
  if (khz == 0) {
    return false;
  }
  switch (mode) {
    case arch::kModeTsc:
      return khz >= kLowestTscKhz && khz <= kHighestTscKhz;
    case arch::kModePvclock:
      return khz == kPvclockKhz;
    case arch::kModeHvclock:
      return khz == kHvclockKhz;
    default:
      return false;
  }
}

// How far NTP may steer mult away from the raw one: 11 %.
constexpr std::uint32_t max_adjustment(std::uint32_t raw_mult) noexcept {
  return static_cast<std::uint32_t>(std::uint64_t{raw_mult} * 11 / 100);
}

constexpr std::uint64_t expected_max_cycles(std::uint32_t raw_mult) noexcept {
  return raw_mult == 0 ? 0
                       : ~std::uint64_t{0} / (std::uint64_t{raw_mult} + max_adjustment(raw_mult));
}

}  // namespace vvarclock::vvar
