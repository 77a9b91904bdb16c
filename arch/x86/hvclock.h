// The Hyper-V reference TSC page: time stamp counter -> reference time in units of 100 ns.
//
// Layout and protocol: Hyper-V Top Level Functional Specification, "Reference Time Stamp Counter
// (TSC) Page"; Linux (from 4.12) takes sequence 0, not -1, as "invalid, ask the MSR", which for us
// means the syscall. The page may be touched only when the clock mode says hvclock.
//
// Pure: takes the page and a counter. Makes one attempt and never loops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/counter.h"
#include "arch/load.h"
#include "arch/wide_multiply.h"

namespace vvarclock::arch::hvclock {

inline constexpr std::size_t kTscSequence = 0;  // u32, 0 = invalid; changes with every update
inline constexpr std::size_t kTscScale = 8;     // u64, 100 ns units per tick as a 0.64 fraction
inline constexpr std::size_t kTscOffset = 16;   // s64, 100 ns units

// Reference time: the high half of ticks * scale, plus the signed offset; modulo 2^64.
[[nodiscard]] constexpr std::uint64_t reference_time(std::uint64_t tsc, std::uint64_t scale,
                                                     std::uint64_t offset) noexcept {
  return mul_64x64_high(tsc, scale) + offset;
}

// The same for CPUs without a 64-bit multiply: four 32-bit multiplies and no library call.
[[nodiscard]] constexpr std::uint64_t reference_time_pieces(std::uint64_t tsc, std::uint64_t scale,
                                                            std::uint64_t offset) noexcept {
  return mul_64x64_high_pieces(tsc, scale) + offset;
}

// Reference time in 100 ns units. kUnavailable: the hypervisor declared the page invalid. kBusy: it
// changed under us.
template <Counter C>
[[nodiscard, gnu::always_inline]] inline Cycles read(const std::byte* page) noexcept {
  const auto sequence = load<std::uint32_t>(page, kTscSequence);
  if (sequence == 0) [[unlikely]] {
    return kInvalidCycles;
  }
  const auto scale = load<std::uint64_t>(page, kTscScale);
  const auto offset = load<std::uint64_t>(page, kTscOffset);
  const std::uint64_t tsc = C::read();
  if (load<std::uint32_t>(page, kTscSequence) != sequence) [[unlikely]] {
    return {0, Attempt::kBusy};
  }
  return {reference_time(tsc, scale, offset), Attempt::kDone};
}

}  // namespace vvarclock::arch::hvclock
