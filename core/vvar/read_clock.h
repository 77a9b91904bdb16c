// THE HOT PATH: page -> time, for high-resolution, raw and coarse clocks, in
// and out of a time namespace.
//
// Two layers. read_clock_once is one attempt in a straight line, for the usual
// case only. read_clock is the whole protocol: it repeats the attempt within a
// bound, and finds its way through a time namespace. Callers try the first and
// keep the second out of line. Neither makes a system call; what neither can
// answer is the kernel's.
//
// seq, clock mode, cycle_last, mult, shift and the base are read on every call
// inside one sequence section. Validity tests are inside the section, the carry
// is outside. Depends on arch/ and this room. Pure: memory and counter in, time
// out.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

#include "arch/counter.h"
#include "arch/load.h"
#include "arch/x86/hw_counter.h"
#include "core/vvar/binding.h"
#include "core/vvar/clock_id.h"
#include "core/vvar/cycles_to_ns.h"
#include "core/vvar/layout.h"
#include "core/vvar/seqcount.h"

namespace vvarclock::vvar {

using arch::Attempt;
using arch::load;

// How often an attempt may meet a writer before the kernel is asked. The
// kernel's writer needs under a microsecond, but the virtual CPU that runs it
// can be stopped in the middle; the bound is tens of milliseconds of waiting.
inline constexpr std::uint32_t kMaxAttempts = 1U << 20;

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

// A high-resolution or raw clock from the block that holds it. Time is written
// only for kDone.
template <const BlockLayout& B, arch::Counter C, Path P, arch::ClockMode Only>
[[nodiscard, gnu::always_inline]] inline Attempt read_hres(const std::byte* block, ClockId id,
                                                           const arch::CounterPages& pages,
                                                           SecNsec& time) noexcept {
  const SeqMode begin = look<B>(block);
  if (begin.being_written()) [[unlikely]] {
    return Attempt::kBusy;
  }
  const arch::Cycles cycles = arch::read_hw_counter<C, B.modes, Only>(begin.mode(), pages);
  if (cycles.attempt != Attempt::kDone) [[unlikely]] {
    return cycles.attempt;
  }
  const auto cycle_last = load<std::uint64_t>(block, B.cycle_last);
  const std::uint64_t delta = cycles.value - cycle_last;
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
  const std::uint64_t ns = P == Path::kHot ? narrow_ns(static_cast<std::uint32_t>(cycles.value) -
                                                           static_cast<std::uint32_t>(cycle_last),
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
    time = read;
  } else {
    time = carry(sec, ns);
  }
  return Attempt::kDone;
}

// A coarse clock: the time of the last update. Never reads the counter.
template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline Attempt read_coarse(const std::byte* block, ClockId id,
                                                             SecNsec& time) noexcept {
  const SeqMode begin = look<B>(block);
  if (begin.being_written()) [[unlikely]] {
    return Attempt::kBusy;
  }
  const SecNsec base{load_sec<B>(block, id), load_nsec<B>(block, id)};
  if (has_moved<B>(begin, block)) [[unlikely]] {
    return Attempt::kBusy;
  }
  time = base;
  return Attempt::kDone;
}

// One attempt for any id, block 0 being at `data`. kUnavailable for every id
// that is not served. Only: see arch::read_hw_counter.
template <const BlockLayout& B, arch::Counter C, Path P = Path::kHot,
          arch::ClockMode Only = arch::kAnyMode>
[[nodiscard, gnu::always_inline]] inline Attempt read_clock_once(const std::byte* data,
                                                                 const arch::CounterPages& pages,
                                                                 ClockId id,
                                                                 SecNsec& time) noexcept {
  if (is_in(id, kHresIds & B.ids)) [[likely]] {
    return read_hres<B, C, P, Only>(data, id, pages, time);
  }
  if constexpr (B.has_raw_block()) {
    if (id == kMonotonicRaw) {
      return read_hres<B, C, P, Only>(data + B.stride, kMonotonicRaw, pages, time);
    }
  }
  if (is_in(id, kCoarseIds)) {
    return read_coarse<B>(data, id, time);
  }
  return Attempt::kUnavailable;
}

// Block 0 of the real data: `data` itself, or what stands behind the mark of a
// time namespace; null when that is unknown.
template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline const std::byte* real_data(
    const Binding& binding) noexcept {
  if constexpr (!B.is_generic()) {
    return binding.data;  // older than time namespaces
  } else {
    const SeqMode seen = look<B>(binding.data);
    return seen.being_written() && seen.marks_timens() ? binding.timens_data : binding.data;
  }
}

// The whole protocol. False: the kernel must be asked, and time is untouched.
template <const BlockLayout& B, arch::Counter C>
[[nodiscard]] inline bool read_clock(const Binding& binding, ClockId id, SecNsec& time) noexcept {
  for (std::uint32_t left = kMaxAttempts; left != 0; --left) {
    const std::byte* const data = real_data<B>(binding);
    if (data == nullptr) {
      return false;
    }
    SecNsec real{};
    const Attempt attempt = read_clock_once<B, C, Path::kFull>(data, binding.counters, id, real);
    if (attempt == Attempt::kDone) {
      // The namespace page holds the offset of each clock where the real page
      // holds its base, in both blocks alike. A signal handler may have changed
      // the namespace since the look at the mark, so look again.
      const SecNsec offset{load<std::uint64_t>(binding.data, B.sec(id)),
                           load<std::uint64_t>(binding.data, B.nsec(id))};
      if (real_data<B>(binding) == data) [[likely]] {
        time = data == binding.data ? real : add_offset(real, offset.sec, offset.nsec);
        return true;
      }
    }
    if (attempt == Attempt::kUnavailable) {
      return false;
    }
    __builtin_ia32_pause();
  }
  return false;
}

// Seconds of CLOCK_REALTIME at the last update: one aligned word, so no
// sequence section. False: ask the kernel.
template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline bool read_time(const Binding& binding,
                                                        std::uint64_t& sec) noexcept {
  const std::byte* const data = real_data<B>(binding);
  if (data == nullptr) [[unlikely]] {
    return false;
  }
  sec = load_sec<B>(data, kRealtime);
  return true;
}

struct Timezone {
  std::int32_t minutes_west;
  std::int32_t dst_type;
};

// The kernel's time zone, which it writes outside the sequence section. False:
// ask the kernel.
template <const BlockLayout& B>
[[nodiscard]] inline bool read_timezone(const Binding& binding, Timezone& zone) noexcept {
  const std::byte* const data = real_data<B>(binding);
  if (data == nullptr) [[unlikely]] {
    return false;
  }
  zone = {load<std::int32_t>(data, binding.timezone),
          load<std::int32_t>(data, binding.timezone + 4U)};
  return true;
}

// Resolution of a served clock in nanoseconds. False: the id is not served, the
// page does not say, or the kernel must be asked.
template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline bool read_resolution(const Binding& binding, ClockId id,
                                                              std::uint32_t& ns) noexcept {
  if constexpr (!B.is_generic()) {
    return false;
  }
  if (is_in(id, kHresIds | kRawIds)) [[likely]] {
    const std::byte* const data = real_data<B>(binding);
    if (data == nullptr) [[unlikely]] {
      return false;
    }
    ns = load<std::uint32_t>(data, binding.hrtimer_res);
    return true;
  }
  if (is_in(id, kCoarseIds)) {
    ns = binding.coarse_resolution;
    return true;
  }
  return false;
}

}  // namespace vvarclock::vvar
