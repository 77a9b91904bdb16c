// Clock mode + hypervisor pages + counter -> cycles. The only switch over clock
// modes.
//
// No page is touched unless the mode names it: the kernel gives a hypervisor
// page out only once its clock has been in use, and touching it before is a bus
// error.
#pragma once

#include <cstddef>

#include "arch/counter.h"
#include "arch/x86/clock_mode.h"
#include "arch/x86/hvclock.h"
#include "arch/x86/pvclock.h"

namespace vvarclock::arch {

// The hypervisor clock pages (vvar_vclock). Null: this kernel has none, or it
// may not be read.
struct CounterPages {
  const std::byte* pvclock;  // the record of vCPU 0
  const std::byte* hvclock;
};

// A reader for processes that may not read the counter: every mode is answered
// with "ask the kernel".
struct ForbiddenCounter {
  static constexpr bool kForbidden = true;
  static std::uint64_t read() noexcept { return 0; }
};

// M: what the mode numbers mean in the generation that the page belongs to.
template <Counter C, ClockModes M = kModesSince412>
[[nodiscard, gnu::always_inline]] inline Cycles read_hw_counter(
    ClockMode mode, const CounterPages& pages) noexcept {
  if constexpr (requires { C::kForbidden; }) {
    return kInvalidCycles;
  } else {
    if (mode == kModeTsc) [[likely]] {
      return {C::read(), Attempt::kDone};
    }
    if (mode == M.pvclock && pages.pvclock != nullptr) {
      return pvclock::read<C>(pages.pvclock);
    }
    if (mode == M.hvclock && pages.hvclock != nullptr) {
      return hvclock::read<C>(pages.hvclock);
    }
    return kInvalidCycles;
  }
}

}  // namespace vvarclock::arch
