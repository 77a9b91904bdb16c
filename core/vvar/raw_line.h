// CLOCK_MONOTONIC_RAW as a line in the counter, for kernels whose page has no raw record (before
// 5.3).
//
// The kernel's raw clock is anchored at cycle_last and runs with the clock source's own mult, which
// no page shows. But cycle_last moves by whole ticks only, and a tick is a number of cycles that
// follows from mult (kernel/time/timekeeping.c, tk_setup_internals, 3.10 - 5.2):
//     tick = round((10^9 / HZ << shift) / mult).
// So cycle_last says which tick, hence which mult it is; and whatever bends the line (clock source
// change, suspend, a step of the clock) reads the counter at an arbitrary moment and so leaves the
// lattice of ticks: one multiplication sees it. It misses one such event in `tick` (10^5 to 10^8);
// the re-check by system call is for that one.
//
// Pure; depends on arch/ and mult_rule.h. Promises nothing about the truth
// of a line: see raw_fit.h.
#pragma once

#include <bit>
#include <cstdint>

#include "arch/int128.h"
#include "arch/x86/clock_mode.h"

namespace vvarclock::vvar {

using arch::Int128;
using arch::Uint128;

// Nanoseconds are kept in 2^-60 parts: a rate of up to 16 ns per cycle fits 64 bits, and the
// rounding of a rate costs less than 1 ns in ten years.
inline constexpr unsigned kPartBits = 60;
constexpr Int128 parts(std::int64_t ns) noexcept { return Int128{ns} * (Int128{1} << kPartBits); }
constexpr std::int64_t whole_ns(Int128 parts_of_ns) noexcept {
  return static_cast<std::int64_t>(parts_of_ns >> kPartBits);
}

// What is needed of a page, read in one sequence section, together with the counter.
struct RawPage {
  arch::ClockMode mode = arch::kModeNone;
  std::uint32_t mult = 0;  // steered by NTP
  std::uint32_t shift = 0;
  std::uint64_t cycle_last = 0;
  std::uint64_t counter = 0;
};

// A line is good for this many ticks after cycle_last. The kernel updates once per tick while any
// CPU is awake; later means a stopped virtual machine, and the kernel is asked.
inline constexpr std::uint32_t kMaxPendingTicks = 8;

// origin, origin + tick, origin + 2 tick, ...
class TickLattice {
 public:
  constexpr TickLattice() noexcept = default;
  constexpr TickLattice(std::uint64_t origin, std::uint64_t tick) noexcept
      : origin_(origin),
        tick_(tick),
        inverse_(inverse_of_odd(tick >> std::countr_zero(tick))),
        most_(~std::uint64_t{0} / tick),
        twos_(static_cast<std::uint64_t>(std::countr_zero(tick))) {}

  // Exact: a multiple of tick, times the inverse of tick's odd part, is the quotient, and nothing
  // else comes out as small.
  [[nodiscard]] constexpr bool has(std::uint64_t cycle_last) const noexcept {
    return std::rotr((cycle_last - origin_) * inverse_, static_cast<int>(twos_)) <= most_;
  }
  [[nodiscard]] constexpr std::uint64_t tick() const noexcept { return tick_; }

 private:
  static constexpr std::uint64_t inverse_of_odd(std::uint64_t odd) noexcept {
    std::uint64_t inverse = odd;  // right in the lowest 3 bits; each step doubles their number
    for (int bits = 3; bits < 64; bits *= 2) {
      inverse *= 2 - odd * inverse;
    }
    return inverse;
  }

  std::uint64_t origin_ = 0;
  std::uint64_t tick_ = 1;
  std::uint64_t inverse_ = 1;
  std::uint64_t most_ = ~std::uint64_t{0};
  std::uint64_t twos_ = 0;
};

// The tick of a clock source in cycles; tick_ns is 10^9 / HZ, rounded down.
constexpr std::uint64_t tick_cycles(std::uint32_t tick_ns, std::uint32_t mult,
                                    std::uint32_t shift) noexcept {
  return ((std::uint64_t{tick_ns} << shift) + mult / 2) / mult;
}

// A published line. Everything in it is constant. It has no padding, so that it can be copied as
// words.
struct RawLine {
  TickLattice lattice;
  std::uint32_t shift = 0;
  std::uint32_t mult = 0;
  Uint128 base = 0;               // parts of a nanosecond at the anchor
  std::uint64_t anchor = 0;       // counter
  std::uint64_t rate = 0;         // parts of a nanosecond per cycle
  std::uint64_t max_pending = 0;  // cycles after cycle_last
  std::uint64_t bound = 0;        // ns: |value - kernel's raw clock| is never larger, up to `limit`
  std::uint64_t limit = 0;        // counter
  std::int64_t mode = arch::kModeNone;

  // Is the page still of the regime in which the line was found?
  [[nodiscard, gnu::always_inline]] constexpr bool same_regime(const RawPage& page) const noexcept {
    return page.mode == mode && page.shift == shift && lattice.has(page.cycle_last);
  }
  // Is the counter within what the line may be used for after this update of the page?
  [[nodiscard, gnu::always_inline]] constexpr bool is_near(const RawPage& page) const noexcept {
    return page.counter - page.cycle_last < max_pending;
  }
  // Nanoseconds of the raw clock. Never falls with a growing counter: there are no ticks in it. A
  // counter before the anchor counts as the anchor.
  [[nodiscard, gnu::always_inline]] constexpr std::uint64_t value(
      std::uint64_t counter) const noexcept {
    const std::uint64_t forward = counter < anchor ? 0 : counter - anchor;
    return static_cast<std::uint64_t>((base + Uint128{forward} * rate) >> kPartBits);
  }
  // The fewest cycles that are at least this long.
  [[nodiscard]] constexpr std::uint64_t cycles_of(std::uint64_t ns) const noexcept {
    return rate == 0 ? 0
                     : static_cast<std::uint64_t>(((Uint128{ns} << kPartBits) + (rate - 1)) / rate);
  }
};

}  // namespace vvarclock::vvar
