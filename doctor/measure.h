// What a call costs: interleaved batches, medians and the middle half of the samples beside them.
//
// All subjects take turns in every round, each round starting with another one, so that a busy
// neighbour or a change of the CPU's frequency falls on all alike. A figure is honest only beside
// its spread. Depends on nothing of ours.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace vvarclock::doctor {

struct Subject {
  std::string name;
  std::function<void(std::uint32_t calls)> run;
};

struct Figure {
  std::string name;
  double median = 0;  // ns per call
  double low = 0;     // a quarter of the samples is below
  double high = 0;    // a quarter is above
};

struct Plan {
  std::uint32_t rounds;
  std::uint32_t batch_ns;           // how long one batch should take
  std::uint64_t (*now)() noexcept;  // ns; its own cost falls on every batch once
};

// In the order of the subjects.
std::vector<Figure> measure(const std::vector<Subject>& subjects, const Plan& plan);

// Median and quartiles; {} for no samples.
Figure summarise(std::string name, std::vector<double> samples);

// The middle half is wider than a tenth of the median: the machine was too busy for the figure to
// mean much.
bool is_unsteady(const Figure& figure);

}  // namespace vvarclock::doctor
