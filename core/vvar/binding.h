// The binding: the discovered pages and what of the layout is known only at run time.
//
// Filled once by discovery, read by every call, never written again. Only addresses and constants
// of the running kernel's build; nothing in it is anything that the kernel may change.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86/hw_counter.h"

namespace vvarclock::vvar {

struct Binding {
  const std::byte* data = nullptr;  // block 0, or the time-namespace page in its place
  const std::byte* timens_data =
      nullptr;  // the real block 0 when data is a time-namespace page; null: no namespaces
  arch::CounterPages counters{};
  std::uint16_t timezone = 0;           // bytes from block 0
  std::uint16_t hrtimer_res = 0;        // bytes from block 0
  std::uint32_t coarse_resolution = 0;  // ns: one tick, a constant of the kernel's build
};

}  // namespace vvarclock::vvar
