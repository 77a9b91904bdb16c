// The simulated time-stamp counter.
//
// Stands still unless told: a reader and the reference then look at the same instant and must agree
// to the nanosecond. With a step, time passes with every read. The hook runs after the value was
// taken and before the reader goes on, which is where an interrupt hurts most. Static, because a
// Counter is a stateless type: one thread only.
#pragma once

#include <cstdint>

#include "arch/counter.h"

namespace vvarclock::test {

struct SimCounter {
  inline static std::uint64_t now = 0;
  inline static std::uint64_t step = 0;
  inline static void (*hook)() = nullptr;

  static std::uint64_t read() noexcept {
    now += step;
    const std::uint64_t value = now;
    if (hook != nullptr) {
      hook();
    }
    return value;
  }
};

static_assert(arch::Counter<SimCounter>);

}  // namespace vvarclock::test
