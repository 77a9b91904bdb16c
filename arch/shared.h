// A number that one thread writes while others read it, in words of the machine.
//
// What is wider than a word may be read in halves of two values, and several numbers may belong to
// different moments. So they count only when a look at something else afterwards (a version, a
// sequence count) says that nobody has written. Reading is acquire and writing release, word by
// word; neither ever waits, and on x86 both are plain moves. Pure; depends on nothing.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace vvarclock::arch {

// How a number, or whatever else, is kept where nobody writes while it is read.
template <class T>
using Plain = T;

template <std::integral T>
class Shared {
 public:
  // As std::atomic: written where it stands, read wherever its value is wanted.
  [[gnu::always_inline]] operator T() const noexcept {  // NOLINT(google-explicit-constructor)
    if constexpr (kHalves) {
      const std::uint32_t low = low_.load(std::memory_order_acquire);
      return static_cast<T>(std::uint64_t{high_.load(std::memory_order_acquire)} << 32 | low);
    } else {
      return low_.load(std::memory_order_acquire);
    }
  }

  Shared& operator=(T value) noexcept {
    low_.store(static_cast<Low>(value), std::memory_order_release);
    if constexpr (kHalves) {
      high_.store(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32),
                  std::memory_order_release);
    }
    return *this;
  }

 private:
  static constexpr bool kHalves = sizeof(T) > sizeof(std::size_t);
  struct Nothing {};
  using Low = std::conditional_t<kHalves, std::uint32_t, T>;
  using High = std::conditional_t<kHalves, std::atomic<std::uint32_t>, Nothing>;

  std::atomic<Low> low_{};
  [[no_unique_address]] High high_{};
};

}  // namespace vvarclock::arch
