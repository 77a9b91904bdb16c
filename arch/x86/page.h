// Pages of x86 memory: what is mapped, and so readable, as a whole.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vvarclock::arch {

inline constexpr std::size_t kPageSize = 4096;

// In bytes.
constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
  return (bytes + kPageSize - 1) / kPageSize * kPageSize;
}

inline bool on_one_page(const std::byte* a, const std::byte* b) noexcept {
  const auto number = [](const std::byte* at) {
    return reinterpret_cast<std::uintptr_t>(at) / kPageSize;
  };
  return number(a) == number(b);
}

}  // namespace vvarclock::arch
