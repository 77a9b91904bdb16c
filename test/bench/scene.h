// A pass with figures known beforehand, for the tests of what is made of passes.
#pragma once

#include "bench/pass.h"

namespace vvarclock::bench::scene {

inline constexpr double kHz = 2e9;  // two cycles for a nanosecond

// Every subject costs 10 cycles and two more for each place before it in the plan.
inline Pass pass_of(const Plan& plan, double factor = 1) {
  Pass pass;
  pass.tsc_hz = kHz;
  for (std::size_t i = 0; i < plan.subjects.size(); ++i) {
    const double cycles = (10 + 2 * static_cast<double>(i)) * factor;
    pass.cycles.push_back({cycles, cycles, cycles});
  }
  pass.tails.resize(plan.columns.size() + 1);
  for (Histogram& tail : pass.tails) {
    for (std::uint64_t value = 1; value <= 100; ++value) {
      tail.add(value);
    }
  }
  pass.throughput.resize(plan.threads.size() * plan.columns.size(), {1e6, 2e6, 3e6});
  return pass;
}

}  // namespace vvarclock::bench::scene
