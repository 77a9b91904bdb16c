// THE HOT PATH: page -> time, for high-resolution, raw and coarse clocks, in
// and out of a time namespace.
//
// Two layers. read_clock_once is one attempt in a straight line, for the usual
// case only. read_clock is the whole protocol: it repeats the attempt within a
// bound, and finds its way through a time namespace. Callers try the first and
// keep the second out of line. Neither makes a system call; what neither can
// answer is the kernel's.
//
// Depends on arch/ and this room. Pure: memory and counter in, time out.
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
#include "core/vvar/read_block.h"
#include "core/vvar/seqcount.h"

namespace vvarclock::vvar {

// How often an attempt may meet a writer before the kernel is asked. The
// kernel's writer needs under a microsecond, but the virtual CPU that runs it
// can be stopped in the middle; the bound is tens of milliseconds of waiting.
inline constexpr std::uint32_t kMaxAttempts = 1U << 20;

// One attempt for any id, block 0 being at `data`. kUnavailable for every id
// that is not served. Only: see arch::read_hw_counter.
template <const BlockLayout& B, arch::Counter C, Path P = Path::kHot,
          arch::ClockMode Only = arch::kAnyMode, AnyTime Time>
[[nodiscard, gnu::always_inline]] inline Attempt read_clock_once(const std::byte* data,
                                                                 const arch::CounterPages& pages,
                                                                 ClockId id, Time& time) noexcept {
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
// sequence section (where it is two registers, see load_whole). False: ask the kernel.
template <const BlockLayout& B>
[[nodiscard, gnu::always_inline]] inline bool read_time(const Binding& binding,
                                                        std::uint64_t& sec) noexcept {
  const std::byte* const data = real_data<B>(binding);
  if (data == nullptr) [[unlikely]] {
    return false;
  }
  if constexpr (B.narrow) {
    sec = load_sec<B>(data, kRealtime);
  } else {
    sec = arch::load_whole(data + B.sec(kRealtime));
  }
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
