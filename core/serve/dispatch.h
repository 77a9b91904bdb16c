// Who answers a call: one table, right from the first instruction of the process to the last.
//
// Constant-initialised to the system call, replaced once by attach, read-only from then on. There
// is no lock and no once-flag: a caller sees the one or the other, and both are right.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/halves.h"
#include "arch/load.h"
#include "arch/ordering.h"
#include "arch/x86/clock_mode.h"
#include "core/serve/fallback.h"
#include "core/vvar/binding.h"
#include "core/vvar/layout.h"

namespace vvarclock::serve {

// One function per exported name.
struct Functions {
  int (*clock_gettime)(clockid_t, timespec*) noexcept;
  int (*gettimeofday)(timeval*, void*) noexcept;
  time_t (*time)(time_t*) noexcept;
  int (*timespec_get)(timespec*, int) noexcept;
  int (*clock_getres)(clockid_t, timespec*) noexcept;
#ifndef __x86_64__
  int (*clock_gettime64)(clockid_t, arch::Timespec64*) noexcept;
  int (*gettimeofday64)(arch::Timeval64*, void*) noexcept;
  std::int64_t (*time64)(std::int64_t*) noexcept;
  int (*timespec_get64)(arch::Timespec64*, int) noexcept;
  int (*clock_getres64)(clockid_t, arch::Timespec64*) noexcept;
#endif
};

// A sequence word that is odd for ever: what stands in for the page's before attach.
alignas(4) inline constexpr std::array<std::byte, 4> kNoSeq{std::byte{1}};

// What every call reads, on a page of its own so that it can be made read-only, and on lines that
// nothing writes (some machines have lines of 128 bytes).
struct alignas(4096) Dispatch {
  vvar::Binding binding;
  std::atomic<int (*)(clockid_t, timespec*) noexcept> clock_gettime{&fallback::clock_gettime};
  std::atomic<int (*)(timeval*, void*) noexcept> gettimeofday{&fallback::gettimeofday};
  std::atomic<time_t (*)(time_t*) noexcept> time{&fallback::time};
  std::atomic<int (*)(timespec*, int) noexcept> timespec_get{&fallback::timespec_get};
  std::atomic<int (*)(clockid_t, timespec*) noexcept> clock_getres{&fallback::clock_getres};
#ifndef __x86_64__
  std::atomic<int (*)(clockid_t, arch::Timespec64*) noexcept> clock_gettime64{
      &fallback::clock_gettime};
  std::atomic<int (*)(arch::Timeval64*, void*) noexcept> gettimeofday64{&fallback::gettimeofday};
  std::atomic<std::int64_t (*)(std::int64_t*) noexcept> time64{&fallback::time};
  std::atomic<int (*)(arch::Timespec64*, int) noexcept> timespec_get64{&fallback::timespec_get};
  std::atomic<int (*)(clockid_t, arch::Timespec64*) noexcept> clock_getres64{
      &fallback::clock_getres};
#endif
  // For time(), which is too short for a jump through the table: the page's sequence word, odd
  // where a time namespace or a writer needs a closer look, and the seconds of CLOCK_REALTIME.
  const std::byte* realtime_sec = nullptr;
  std::atomic<const std::byte*> seq{kNoSeq.data()};
  // Of no meaning here: a word for who needs one until attach and would write one page more for it.
  void* until_attach = nullptr;
};

extern constinit Dispatch dispatch;

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
    return dispatch.time.load(std::memory_order_acquire)(out);
  }
  const auto sec = arch::load<time_t>(dispatch.realtime_sec);
  if constexpr (arch::kTwoRegisters) {
    if (arch::load<std::uint32_t>(dispatch.realtime_sec, sizeof sec) != 0 || sec < 0) [[unlikely]] {
      return dispatch.time.load(std::memory_order_acquire)(out);
    }
  }
  if (out != nullptr) {
    *out = sec;
  }
  return sec;
}

}  // namespace vvarclock::serve
