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

template <Counter C>
constexpr bool is_forbidden() noexcept {
  return requires { C::kForbidden; };
}

// M: what the mode numbers mean in the generation that the page belongs to.
//
// Only: the one mode that is answered, by today's number; every other mode is kBusy, for a path
// that knows them all. A page that Only names must not be null. With a single mode in it the hot
// path has the instructions and registers of that mode and no others: with all three it
// needed a stack frame for the sake of pvclock.
template <Counter C, ClockModes M = kModesSince412, ClockMode Only = kAnyMode>
[[nodiscard, gnu::always_inline]] inline Cycles read_hw_counter(
    ClockMode mode, const CounterPages& pages) noexcept {
  if constexpr (is_forbidden<C>()) {
    return kInvalidCycles;
  } else if constexpr (Only != kAnyMode) {
    if (mode != own_mode(Only, M)) [[unlikely]] {
      return {0, Attempt::kBusy};
    }
    if constexpr (Only == kModePvclock) {
      return pvclock::read<C>(pages.pvclock);
    } else if constexpr (Only == kModeHvclock) {
      return hvclock::read<C>(pages.hvclock);
    } else {
      static_assert(Only == kModeTsc);
      return {C::read(), Attempt::kDone};
    }
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
