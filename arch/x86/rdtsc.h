// The instruction sequences that read the time-stamp counter, one Counter type each.
//
// Each may be used only where the kernel's clock mode says that the counter is the time base, and
// only while the process is allowed to read it (prctl PR_SET_TSC): otherwise the instruction
// faults.
#pragma once

#include <cstdint>

#include "arch/counter.h"
#include "arch/ordering.h"

namespace vvarclock::arch {

// rdtsc alone. Cheapest; may execute before earlier loads have completed.
struct UnorderedTsc {
  static constexpr Ordering kOrdering = Ordering::kUnordered;
  static std::uint64_t read() noexcept {
    std::uint32_t low;
    std::uint32_t high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return (static_cast<std::uint64_t>(high) << 32) | low;
  }
};

// lfence; rdtsc. lfence waits until every earlier instruction has completed (on AMD since the
// kernel makes lfence dispatch-serialising at boot).
struct LfenceTsc {
  static constexpr Ordering kOrdering = Ordering::kLfence;
  static std::uint64_t read() noexcept {
    std::uint32_t low;
    std::uint32_t high;
    asm volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (static_cast<std::uint64_t>(high) << 32) | low;
  }
};

// rdtscp. Waits as lfence does, in one instruction; also writes the CPU's number into ecx, which we
// drop.
struct RdtscpTsc {
  static constexpr Ordering kOrdering = Ordering::kRdtscp;
  static std::uint64_t read() noexcept {
    std::uint32_t low;
    std::uint32_t high;
    asm volatile("rdtscp" : "=a"(low), "=d"(high) : : "ecx", "memory");
    return (static_cast<std::uint64_t>(high) << 32) | low;
  }
};

}  // namespace vvarclock::arch
