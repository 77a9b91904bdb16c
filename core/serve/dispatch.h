// Who answers a call: one table, right from the first instruction of the process to the last.
//
// Constant-initialised to the system call, replaced once by attach, read-only from then on. There
// is no lock and no once-flag: a caller sees the one or the other, and both are right.
#pragma once

#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arch/halves.h"
#include "arch/load.h"
#include "arch/ordering.h"
#include "arch/shared.h"
#include "arch/x86/clock_mode.h"
#include "arch/x86/page.h"
#include "core/serve/fallback.h"
#include "core/vvar/binding.h"
#include "core/vvar/layout.h"

namespace vvarclock::serve {

// One function per exported name, for callers of width W: to begin with, the system call. Slot:
// what holds each.
template <template <class> class Slot, class W>
struct Calls {
  Slot<int (*)(clockid_t, typename W::Timespec*) noexcept> clock_gettime{
      &fallback::For<W>::clock_gettime};
  Slot<int (*)(typename W::Timeval*, void*) noexcept> gettimeofday{&fallback::For<W>::gettimeofday};
  Slot<typename W::Sec (*)(typename W::Sec*) noexcept> time{&fallback::For<W>::time};
  Slot<int (*)(typename W::Timespec*, int) noexcept> timespec_get{&fallback::For<W>::timespec_get};
  Slot<int (*)(clockid_t, typename W::Timespec*) noexcept> clock_getres{
      &fallback::For<W>::clock_getres};
};

struct NoCalls {};

// The same for callers of every width that this machine has.
template <template <class> class Slot>
struct AllCalls {
  Calls<Slot, OwnWidth> own;
  [[no_unique_address]] std::conditional_t<kTwoWidths, Calls<Slot, WideWidth>, NoCalls> wide;
};

using arch::Plain;
using Functions = AllCalls<Plain>;

// A sequence word that is odd for ever: what stands in for the page's before attach.
alignas(4) inline constexpr std::array<std::byte, 4> kNoSeq{std::byte{1}};

// What every call reads, on a page of its own so that it can be made read-only, and on lines that
// nothing writes (some machines have lines of 128 bytes).
struct alignas(arch::kPageSize) Dispatch {
  vvar::Binding binding;
  AllCalls<std::atomic> calls;
  // For time(), which is too short for a jump through the table: the page's sequence word, odd
  // where a time namespace or a writer needs a closer look, and the seconds of CLOCK_REALTIME.
  const std::byte* realtime_sec = nullptr;
  std::atomic<const std::byte*> seq{kNoSeq.data()};
  // Of no meaning here: a word for who needs one until attach and would write one page more for it.
  void* until_attach = nullptr;
};

// Said to be hidden here too: what is only declared is otherwise reached through the GOT, and the
// linker makes of that an instruction more.
extern constinit Dispatch dispatch [[gnu::visibility("hidden")]];

// The function in a slot, to be called at once. What attach wrote before it, the function sees:
// x86 loads in order, and a compiler moves nothing of a function that it does not know yet before
// the load that names it. Told to acquire, gcc copies the arguments of a 32-bit call to and fro.
template <class F>
[[nodiscard, gnu::always_inline]] inline F target(const std::atomic<F>& slot) noexcept {
  return slot.load(std::memory_order_relaxed);
}

// What readers are made for.
struct Wanted {
  arch::Ordering ordering = arch::Ordering::kLfence;
  bool counter_allowed = true;  // false: readers that never touch the counter
  // The clock mode that is read in a straight line: the one of now. Every other mode is read as
  // well, some nanoseconds dearer, should the kernel change it. A mode without a counter counts as
  // TSC; the hypervisor page of the mode must not be null.
  arch::ClockMode mode = arch::kModeTsc;
};

Functions page_readers(vvar::BlockKind kind, const Wanted& wanted) noexcept;

// The mode to want: that of now where the binding has what it reads.
arch::ClockMode mode_to_want(const vvar::Binding& binding, arch::ClockMode now) noexcept;

// Puts the page readers in place, once per process, and makes the table read-only. The binding must
// be believed.
void attach(const vvar::Binding& binding, vvar::BlockKind kind,
            const Functions& functions) noexcept;

// time() as it is exported: the seconds of CLOCK_REALTIME at the last update. One aligned word, so
// it needs no sequence section. With the jump through the table it took 2.45 ns where libc's own
// takes 1.92; so it takes 1.92 as well. Where the word is two registers, it is left to the table as
// soon as a time_t may not hold it.
[[gnu::always_inline]] inline time_t time(time_t* out) noexcept {
  const std::byte* const seq = dispatch.seq.load(std::memory_order_acquire);
  if ((arch::load<std::uint32_t>(seq) & 1U) != 0) [[unlikely]] {
    return dispatch.calls.own.time.load(std::memory_order_acquire)(out);
  }
  const auto sec = arch::load<time_t>(dispatch.realtime_sec);
  if constexpr (arch::kTwoRegisters) {
    if (arch::load<std::uint32_t>(dispatch.realtime_sec, sizeof sec) != 0 || sec < 0) [[unlikely]] {
      return dispatch.calls.own.time.load(std::memory_order_acquire)(out);
    }
  }
  if (out != nullptr) {
    *out = sec;
  }
  return sec;
}

}  // namespace vvarclock::serve
