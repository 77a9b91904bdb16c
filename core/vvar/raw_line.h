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
#include "arch/shared.h"
#include "arch/wide_multiply.h"
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
// Stored: how the numbers are kept. Plain; or shared, where other threads write (arch/shared.h).
template <template <class> class Stored>
struct Lattice {
  Stored<std::uint64_t> origin{};
  Stored<std::uint64_t> inverse{};  // of tick's odd part, modulo 2^64
  Stored<std::uint64_t> most{};     // the most multiples of the odd part that 64 bits hold
  Stored<std::uint32_t> even{};     // tick's power of two, less 1: bits that a multiple has not
  Stored<std::uint32_t> tick{};

  // Exact: a multiple of the odd part, times its inverse, is the quotient, and nothing else comes
  // out as small; the inverse is odd, so the zeros at the end stay where they are.
  [[nodiscard, gnu::always_inline]] constexpr bool has(std::uint64_t cycle_last) const noexcept {
    const std::uint64_t quotient = (cycle_last - origin) * inverse;
    return (static_cast<std::uint32_t>(quotient) & even) == 0 && quotient <= most;
  }

  template <template <class> class Other>
  constexpr void assign(const Lattice<Other>& other) noexcept {
    origin = other.origin;
    inverse = other.inverse;
    most = other.most;
    even = other.even;
    tick = other.tick;
  }
};
using TickLattice = Lattice<arch::Plain>;

constexpr std::uint64_t inverse_of_odd(std::uint64_t odd) noexcept {
  std::uint64_t inverse = odd;  // right in the lowest 3 bits; each step doubles their number
  for (int bits = 3; bits < 64; bits *= 2) {
    inverse *= 2 - odd * inverse;
  }
  return inverse;
}

// tick: not 0.
constexpr TickLattice tick_lattice(std::uint64_t origin, std::uint32_t tick) noexcept {
  const std::uint32_t odd = tick >> std::countr_zero(tick);
  return {origin, inverse_of_odd(odd), ~std::uint64_t{0} / odd, tick / odd - 1, tick};
}

// The tick of a clock source in cycles; tick_ns is 10^9 / HZ, rounded down.
constexpr std::uint64_t tick_cycles(std::uint32_t tick_ns, std::uint32_t mult,
                                    std::uint32_t shift) noexcept {
  return ((std::uint64_t{tick_ns} << shift) + mult / 2) / mult;
}

// Everything in a line is constant.
template <template <class> class Stored>
struct Line {
  Lattice<Stored> lattice;
  Stored<std::uint32_t> shift{};
  Stored<std::int32_t> mode{};
  Stored<std::uint64_t> base_low{};  // parts of a nanosecond at the anchor, 128 bits
  Stored<std::uint64_t> base_high{};
  Stored<std::uint64_t> anchor{};       // counter
  Stored<std::uint64_t> rate{};         // parts of a nanosecond per cycle
  Stored<std::uint64_t> max_pending{};  // cycles after cycle_last
  Stored<std::uint64_t> bound{};  // ns: |value - kernel's raw clock| is never larger, up to `limit`
  Stored<std::uint64_t> limit{};  // counter
  Stored<std::uint32_t> mult{};   // the clock source's own

  constexpr void set_base(Uint128 parts_of_ns) noexcept {
    base_low = static_cast<std::uint64_t>(parts_of_ns);
    base_high = static_cast<std::uint64_t>(parts_of_ns >> 64);
  }

  // Is the page still of the regime in which the line was found?
  [[nodiscard, gnu::always_inline]] constexpr bool same_regime(const RawPage& page) const noexcept {
    return page.mode == mode && page.shift == shift && lattice.has(page.cycle_last);
  }
  // Is the counter within what the line may be used for after this update of the page?
  [[nodiscard, gnu::always_inline]] constexpr bool is_near(const RawPage& page) const noexcept {
    return page.counter - page.cycle_last < max_pending;
  }
  // Nanoseconds of the raw clock, the counter being this far after the anchor. Never falls with a
  // growing counter: there are no ticks in it.
  [[nodiscard, gnu::always_inline]] constexpr std::uint64_t value_after(
      std::uint64_t forward) const noexcept {
    static_assert(kPartBits == 60);
    return arch::mul_add_shift60(forward, rate, base_low, base_high);
  }
  // The same of any counter: one before the anchor counts as the anchor.
  [[nodiscard]] constexpr std::uint64_t value(std::uint64_t counter) const noexcept {
    return value_after(counter < anchor ? 0 : counter - anchor);
  }
  // The fewest cycles that are at least this long.
  [[nodiscard]] constexpr std::uint64_t cycles_of(std::uint64_t ns) const noexcept {
    return rate == 0 ? 0
                     : static_cast<std::uint64_t>(((Uint128{ns} << kPartBits) + (rate - 1)) / rate);
  }

  template <template <class> class Other>
  constexpr void assign(const Line<Other>& other) noexcept {
    lattice.assign(other.lattice);
    shift = other.shift;
    mode = other.mode;
    base_low = other.base_low;
    base_high = other.base_high;
    anchor = other.anchor;
    rate = other.rate;
    max_pending = other.max_pending;
    bound = other.bound;
    limit = other.limit;
    mult = other.mult;
  }
};
using RawLine = Line<arch::Plain>;
using SharedRawLine = Line<arch::Shared>;

}  // namespace vvarclock::vvar
