// Single-copy stores into simulated kernel memory: the counterpart of arch/load.h.
//
// The compiler neither tears, repeats nor reorders them among themselves; x86 makes stores visible
// in their order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vvarclock::test {

// How long the writer dwells after each store, in pause instructions: a slow writer is met in the
// middle far more often. For the writer's thread alone.
inline unsigned store_pauses = 0;

template <class T>
inline void store(std::byte* base, std::size_t offset, T value) noexcept {
  *reinterpret_cast<volatile T*>(base + offset) = value;
  for (unsigned i = 0; i < store_pauses; ++i) {
    __builtin_ia32_pause();
  }
}

}  // namespace vvarclock::test
