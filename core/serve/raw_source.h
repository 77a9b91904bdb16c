// The two sides of the raw clock on a real machine: a clock block of the page, and the system call.
//
// Depends on arch/ and core/vvar. Honours no time namespace: kernels without a raw record have
// none, and where the page is a namespace's its mode is none that a line may serve in.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

#include "arch/load.h"
#include "arch/x86/hw_counter.h"
#include "arch/x86/raw_syscall.h"
#include "core/vvar/cycles_to_ns.h"
#include "core/vvar/layout.h"
#include "core/vvar/raw_line.h"
#include "core/vvar/read_clock.h"
#include "core/vvar/seqcount.h"

namespace vvarclock::serve {

// Only: the one clock mode that is read, without mult, as a line is served; other modes are then
// kBusy. See arch::read_hw_counter.
template <const vvar::BlockLayout& B, arch::Counter C, arch::ClockMode Only = arch::kAnyMode>
struct PageRawSource {
  const std::byte* block;
  arch::CounterPages pages;

  [[gnu::always_inline]] arch::Attempt read(vvar::RawPage& page) const noexcept {
    const vvar::SeqMode begin = vvar::look<B>(block);
    if (begin.being_written()) [[unlikely]] {
      return arch::Attempt::kBusy;
    }
    const arch::Cycles cycles = arch::read_hw_counter<C, B.modes, Only>(begin.mode(), pages);
    if (cycles.attempt == arch::Attempt::kBusy) [[unlikely]] {
      return arch::Attempt::kBusy;
    }
    page.mode = cycles.attempt == arch::Attempt::kDone ? arch::todays_mode(begin.mode(), B.modes)
                                                       : arch::kModeNone;
    page.counter = cycles.value;
    page.cycle_last = arch::load<std::uint64_t>(block, B.cycle_last);
    if constexpr (Only == arch::kAnyMode) {
      page.mult = arch::load<std::uint32_t>(block, B.mult);
    }
    page.shift = arch::load<std::uint32_t>(block, B.shift);
    return vvar::has_moved<B>(begin, block) ? arch::Attempt::kBusy : arch::Attempt::kDone;
  }
};

struct RawSyscall {
  long raw_ns(std::uint64_t& ns) const noexcept {
    arch::Timespec64 time;
    const long error = arch::raw_clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    if (error == 0) {
      ns = static_cast<std::uint64_t>(time.tv_sec) * vvar::kNsPerSec +
           static_cast<std::uint64_t>(time.tv_nsec);
    }
    return error;
  }
};

}  // namespace vvarclock::serve
