// A real counter whose reader is held up in the middle, now and then for longer than a writer
// needs: the counter is read between the two looks at seq, so that is where a thread that loses its
// CPU does the most harm.
#pragma once

#include <cstdint>

#include "arch/counter.h"

namespace vvarclock::test {

template <arch::Counter Tsc, bool IsOrdered>
struct HeldUp {
  static constexpr bool kIsOrdered = IsOrdered;

  static std::uint64_t read() noexcept {
    dawdle();
    const std::uint64_t value = Tsc::read();
    dawdle();
    return value;
  }

 private:
  // Mostly not at all, in one of eight cases up to 1000 pauses: some 20 us.
  static void dawdle() noexcept {
    thread_local std::uint32_t state = 1;
    state = state * 1664525 + 1013904223;  // a poor generator, but a quick one
    if (state >> 29 == 0) {
      for (std::uint32_t i = state >> 19 & 1023; i != 0; --i) {
        __builtin_ia32_pause();
      }
    }
  }
};

}  // namespace vvarclock::test
