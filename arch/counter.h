// The contract of a counter reader.
//
// A Counter is a stateless type with a static read(), so that the compiler sees the instruction in
// the middle of the hot path and a test can put a scripted sequence there. It promises a 64-bit
// count in the unit of the hardware counter; it promises nothing about ordering (see ordering.h)
// nor that the count never goes back between CPUs.
//
// Depends on nothing.
#pragma once

#include <concepts>
#include <cstdint>

namespace vvarclock::arch {

template <class T>
concept Counter = requires {
  { T::read() }
  noexcept->std::same_as<std::uint64_t>;
};

// What one attempt to read cycles came to. Every protocol here makes one attempt and reports; the
// caller owns the bound on attempts, so nothing in arch/ can hang.
enum class Attempt : std::uint8_t {
  kDone,         // the value is consistent
  kBusy,         // a writer was at work: try again
  kUnavailable,  // this source gives no value now: ask the kernel
};

// Cycles in the unit of the kernel's clock source (TSC ticks, nanoseconds for pvclock, 100 ns for
// the Hyper-V page).
struct Cycles {
  std::uint64_t value;  // meaningful only when attempt is kDone
  Attempt attempt;
};

constexpr Cycles kInvalidCycles{0, Attempt::kUnavailable};

}  // namespace vvarclock::arch
