// One fresh process's samples, and their way to the process that asked for them.
//
// Times are TSC cycles as counted; tsc_hz makes nanoseconds of them.
#pragma once

#include <optional>
#include <vector>

#include "bench/histogram.h"
#include "bench/plan.h"

namespace vvarclock::bench {

struct Pass {
  double tsc_hz = 0;
  std::vector<std::vector<double>> cycles;  // for each subject: cycles per turn, by rounds
  // For each column, then one more: the two counter reads alone that enclose each call.
  std::vector<Histogram> tails;
  std::vector<std::vector<double>>
      throughput;  // for each thread count and column: calls per second
};

// Index in Pass::throughput.
inline std::size_t throughput_index(const Plan& plan, std::size_t threads, std::size_t column) {
  return threads * plan.columns.size() + column;
}

// Measures; the loops run in this process and its threads.
Pass measure_pass(const Plan& plan, const std::vector<Way>& ways);

// Between two processes of one program on one machine: no byte order, no versions.
bool send(const Pass& pass, int descriptor);
// Nothing when what came is not a whole pass of this plan.
std::optional<Pass> receive(const Plan& plan, int descriptor);

}  // namespace vvarclock::bench
