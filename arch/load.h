// Single-copy loads from memory that another party (kernel or hypervisor) writes while we read.
//
// A naturally aligned load of up to the machine's word is one access: neither torn nor repeated by
// the compiler, and never moved across another load of this kind by it. The CPU's own ordering is
// the caller's matter: x86 does not reorder loads with loads. A 64-bit load on a 32-bit machine may
// be two accesses and is only used under a sequence count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vvarclock::arch {

template <class T>
[[nodiscard, gnu::always_inline]] inline T load(const std::byte* base,
                                                std::size_t offset = 0) noexcept {
  return *reinterpret_cast<const volatile T*>(base + offset);
}

}  // namespace vvarclock::arch
