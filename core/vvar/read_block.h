// One attempt at one clock block, in a straight line: the core of the hot path (read_clock.h).
//
// seq, clock mode, cycle_last, mult, shift and the base are read on every call
// inside one sequence section. Validity tests are inside the section, the carry
// is outside. Depends on arch/ and this room. Pure: memory and counter in, time
// out; makes no system call and never repeats anything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/counter.h"
#include "arch/halves.h"
#include "arch/load.h"
#include "arch/x86/hw_counter.h"
#include "core/vvar/clock_id.h"
#include "core/vvar/cycles_to_ns.h"
#include "core/vvar/layout.h"
#include "core/vvar/seqcount.h"

namespace vvarclock::vvar {

using arch::Attempt;
using arch::Halves;
using arch::load;

// One look at seq and clock mode, and whether they have moved since.
template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline SeqMode look(const std::byte* block) noexcept {
  if constexpr (B.mode_follows_seq()) {
    return SeqMode::begin(block + B.seq);
  } else {
    return SeqMode::begin(block + B.seq, block + B.mode);
  }
}

template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline bool has_moved(const SeqMode& since,
                                                        const std::byte* block) noexcept {
  if constexpr (B.mode_follows_seq()) {
    return since.changed(block + B.seq);
  } else {
    return since.seq_changed(block + B.seq);
  }
}

// The same where the block's layout is known at run time only; not for the call path.
[[nodiscard]] inline SeqMode look(const std::byte* block, const BlockLayout& layout) noexcept {
  return layout.mode_follows_seq() ? SeqMode::begin(block + layout.seq)
                                   : SeqMode::begin(block + layout.seq, block + layout.mode);
}

[[nodiscard]] inline bool has_moved(const SeqMode& since, const std::byte* block,
                                    const BlockLayout& layout) noexcept {
  return since.seq_changed(block + layout.seq);
}

// What the block holds of a clock: seconds, and nanoseconds, shifted but for coarse clocks. The
// generic vDSO's addresses are made in two steps, of which the second is part of the load. Narrow
// seconds are read as unsigned: those of REALTIME pass 2^31 in 2038.
template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline std::uint64_t load_sec(const std::byte* block,
                                                                ClockId id) noexcept {
  if constexpr (B.is_generic()) {
    return load<std::uint64_t>(block + std::size_t{16} * id, B.basetime);
  } else if constexpr (B.narrow) {
    return load<std::uint32_t>(block, B.sec(id));
  } else {
    return load<std::uint64_t>(block, B.sec(id));
  }
}

template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline std::uint64_t load_nsec(const std::byte* block,
                                                                 ClockId id) noexcept {
  if constexpr (B.is_generic()) {
    return load<std::uint64_t>(block + std::size_t{16} * id, B.basetime + 8U);
  } else if (B.narrow && is_in(id, kCoarseIds)) {
    return load<std::uint32_t>(block, B.nsec(id));
  } else {
    return load<std::uint64_t>(block, B.nsec(id));
  }
}

// kHot: what is rare is reported as kBusy, so that its code and registers stay
// out of the straight line. kFull: everything.
enum class Path : std::uint8_t { kHot, kFull };

// The hot end of read_hres where a 64-bit number is two registers. Each field is read where it is
// needed, so that few registers do.
template <const BlockLayout& B, AnyTime Time>
[[nodiscard, gnu::always_inline]] inline Attempt finish_by_halves(const std::byte* block,
                                                                  ClockId id, SeqMode begin,
                                                                  Halves cycles,
                                                                  Time& time) noexcept {
  const Halves delta = minus(cycles, block + B.cycle_last);
  if (delta.high != 0 || static_cast<std::int32_t>(delta.low) < 0) [[unlikely]] {
    return Attempt::kBusy;  // negative or large
  }
  const Halves product(std::uint64_t{delta.low} * load<std::uint32_t>(block, B.mult));
  const std::byte* const base = block + std::size_t{16} * id;
  const Halves sum = plus(product, base + B.basetime + 8U);
  const auto shift = load<std::uint32_t>(block, B.shift);
  if (shift > 31 || sum.high >> (shift & 31U) != 0) [[unlikely]] {
    return Attempt::kBusy;  // of no clock source that we know
  }
  std::uint32_t ns = shifted_right(sum, shift);
  Halves sec = arch::load_halves(base + B.basetime);
  if (has_moved<B>(begin, block)) [[unlikely]] {
    return Attempt::kBusy;
  }
  if (ns >= kNsPerSec) [[unlikely]] {
    ns -= kNsPerSec;
    sec = {sec.low + 1U, sec.high + (sec.low == ~0U ? 1U : 0U)};
    if (ns >= kNsPerSec) {
      return Attempt::kBusy;
    }
  }
  set(time, sec, ns);
  return Attempt::kDone;
}

// The end of read_hres in whole numbers.
template <const BlockLayout& B, Path P, AnyTime Time>
[[nodiscard, gnu::always_inline]] inline Attempt finish(const std::byte* block, ClockId id,
                                                        SeqMode begin, std::uint64_t cycles,
                                                        Time& time) noexcept {
  const auto cycle_last = load<std::uint64_t>(block, B.cycle_last);
  const std::uint64_t delta = cycles - cycle_last;
  if constexpr (P == Path::kHot) {
    // One test for both rare cases, negative and large.
    if (!is_narrow(delta)) [[unlikely]] {
      return Attempt::kBusy;
    }
  }
  const auto mult = load<std::uint32_t>(block, B.mult);
  const std::uint64_t base = load_nsec<B>(block, id);
  const auto shift = load<std::uint32_t>(block, B.shift);
  // Computed before the rest is loaded, so that no register has to be saved to keep it all.
  const std::uint64_t ns =
      P == Path::kHot
          ? narrow_ns(static_cast<std::uint32_t>(cycles) - static_cast<std::uint32_t>(cycle_last),
                      mult, shift, base)
          : wide_ns(delta, mult, shift, base);
  const std::uint64_t sec = load_sec<B>(block, id);
  if (has_moved<B>(begin, block)) [[unlikely]] {
    return Attempt::kBusy;
  }
  if constexpr (P == Path::kHot) {
    SecNsec read{sec, ns};
    if (!carry_one(read)) [[unlikely]] {
      return Attempt::kBusy;
    }
    set(time, read.sec, read.nsec);
  } else {
    const SecNsec carried = carry(sec, ns);
    set(time, carried.sec, carried.nsec);
  }
  return Attempt::kDone;
}

// A high-resolution or raw clock from the block that holds it. Time is written
// only for kDone.
template <const BlockLayout& B, arch::Counter C, Path P, arch::ClockMode Only, AnyTime Time>
[[nodiscard, gnu::always_inline]] inline Attempt read_hres(const std::byte* block, ClockId id,
                                                           const arch::CounterPages& pages,
                                                           Time& time) noexcept {
  const SeqMode begin = look<B>(block);
  if (begin.being_written()) [[unlikely]] {
    return Attempt::kBusy;
  }
  const arch::Cycles cycles = arch::read_hw_counter<C, B.modes, Only>(begin.mode(), pages);
  if (cycles.attempt != Attempt::kDone) [[unlikely]] {
    // Loaded apart from seq, the mode may be that of another moment.
    return P == Path::kFull && kTwoRegisters && has_moved<B>(begin, block) ? Attempt::kBusy
                                                                           : cycles.attempt;
  }
  if constexpr (P == Path::kHot && kTwoRegisters && B.is_generic()) {
    return finish_by_halves<B>(block, id, begin, Halves(cycles.value), time);
  } else {
    return finish<B, P>(block, id, begin, cycles.value, time);
  }
}

// A coarse clock: the time of the last update. Never reads the counter.
template <const BlockLayout& B, AnyTime Time>
[[nodiscard, gnu::always_inline]] inline Attempt read_coarse(const std::byte* block, ClockId id,
                                                             Time& time) noexcept {
  const SeqMode begin = look<B>(block);
  if (begin.being_written()) [[unlikely]] {
    return Attempt::kBusy;
  }
  if constexpr (kTwoRegisters && B.is_generic()) {
    const std::byte* const base = block + std::size_t{16} * id;
    const Halves sec = arch::load_halves(base + B.basetime);
    const auto nsec = load<std::uint32_t>(base, B.basetime + 8U);
    if (has_moved<B>(begin, block)) [[unlikely]] {
      return Attempt::kBusy;
    }
    set(time, sec, nsec);
  } else {
    const SecNsec base{load_sec<B>(block, id), load_nsec<B>(block, id)};
    if (has_moved<B>(begin, block)) [[unlikely]] {
      return Attempt::kBusy;
    }
    set(time, base.sec, base.nsec);
  }
  return Attempt::kDone;
}

}  // namespace vvarclock::vvar
