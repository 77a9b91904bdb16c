// The samples of all processes together, as figures.
#pragma once

#include <string>
#include <vector>

#include "bench/histogram.h"
#include "bench/machine.h"
#include "bench/pass.h"
#include "bench/statistics.h"

namespace vvarclock::bench {

struct Cell {
  Summary ns;             // per call; inside work: what the call adds to it
  double tsc_cycles = 0;  // the median
  // How many times as fast as libc's, of batches of the same round; count 0: no such figure.
  Summary times;
  bool unstable = false;
};

struct Results {
  Machine machine;
  Plan plan;
  double tsc_hz = 0;
  std::vector<Cell> cells;          // for each subject
  std::vector<Histogram> tails;     // TSC cycles; as in Pass
  std::vector<Summary> throughput;  // calls per second; as in Pass

  [[nodiscard]] const Cell* cell(Shape shape, const Call* call, std::size_t column) const;
  [[nodiscard]] double ns(std::uint64_t cycles) const {
    return static_cast<double>(cycles) / tsc_hz * 1e9;
  }
};

Results combine(const Plan& plan, const Machine& machine, const std::vector<Pass>& passes);

// What a reader of the figures must be told, in sentences.
std::vector<std::string> warnings(const Results& results);

// The table, for people.
std::string as_text(const Results& results);
// Every figure, for machines.
std::string as_json(const Results& results);

}  // namespace vvarclock::bench
