// CLOCK_MONOTONIC_RAW for the call path, where the page has no raw record: the process's one
// RawClock between the page and the system call.
//
// The line is read with the counter that the user chose. What is not served by it goes to the
// kernel, with ordered counter reads around, whatever that choice is: the fit and the proof of
// order in raw_clock.h need them.
#pragma once

#include "arch/x86/rdtsc.h"
#include "core/serve/raw_clock.h"
#include "core/serve/raw_source.h"
#include "core/vvar/binding.h"
#include "core/vvar/layout.h"

namespace vvarclock::serve {

// Written by re-checks, so never on the page of the dispatch table.
extern constinit RawClock raw_clock;

// May a line serve in this clock mode? The Hyper-V page counts in 100 ns, too coarse for a line
// that is better than a system call.
constexpr bool has_raw_line(arch::ClockMode mode) noexcept {
  return mode == arch::kModeTsc || mode == arch::kModePvclock;
}

// Once, before the readers are in place. Does nothing for a block that has a raw record. `now` is
// the clock mode at this moment; while it is one without a line, one in mode TSC is waited for.
void begin_raw_clock(const vvar::Binding& binding, vvar::BlockKind kind,
                     arch::ClockMode now) noexcept;

// In the clock mode M alone, as in the readers of the other clocks.
template <const vvar::BlockLayout& B, arch::Counter C, arch::ClockMode M, vvar::AnyTime Time>
[[nodiscard, gnu::always_inline]] inline bool read_raw_at_once(const vvar::Binding& binding,
                                                               Time& time) noexcept {
  if constexpr (!has_raw_line(M) || arch::is_forbidden<C>()) {
    return false;
  } else {
    const PageRawSource<B, C, M> source{binding.data, binding.counters};
    return read_raw_line(raw_clock, source, time) == arch::Attempt::kDone;
  }
}

// False: no line is wanted here, or the system call failed; and time is untouched.
template <const vvar::BlockLayout& B>
[[nodiscard]] inline bool read_raw_or_ask(const vvar::Binding& binding,
                                          vvar::SecNsec& time) noexcept {
  const PageRawSource<B, arch::LfenceTsc> source{binding.data, binding.counters};
  return raw_clock.has_begun() &&
         raw_by_line_or_syscall(raw_clock, source, RawSyscall{}, time) == 0;
}

}  // namespace vvarclock::serve
