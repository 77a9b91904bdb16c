// What one run measures and how often: the same for the program and for the processes it starts,
// which find each other's samples by their place in this plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/calls.h"
#include "bench/loops.h"
#include "bench/options.h"
#include "bench/ways.h"

namespace vvarclock::bench {

inline constexpr std::size_t kNoColumn = ~std::size_t{0};

// One thing to time: a call by the way of a column, or a bare form.
struct Subject {
  Shape shape;
  const Call* call;
  std::size_t column;  // kNoColumn for bare forms
};

struct Effort {
  std::uint32_t processes;      // at most
  std::uint32_t seconds;        // no further process is started after that, once there are three
  std::uint32_t rounds;         // batches of each subject in a process
  std::uint32_t batch_ns;       // how long a batch should take
  std::uint32_t tail_calls;     // timed one by one, for each column, in a process
  std::uint32_t thread_ns;      // how long threads call
  std::uint32_t thread_rounds;  // in a process
};

struct Plan {
  std::vector<Column> columns;
  std::vector<const Call*> calls;
  std::vector<const Call*> bare;
  std::vector<Subject> subjects;
  std::vector<unsigned> threads;  // 1, 2 and as many as there are CPUs for us
  const Call* chosen;             // the call whose tail and threads are looked at
  Effort effort;

  // Its place among the subjects; subjects.size() when it is not measured.
  [[nodiscard]] std::size_t find(Shape shape, const Call* call, std::size_t column) const;
  // The loop or the work alone.
  [[nodiscard]] std::size_t alone(Shape shape) const;
};

// The system call is not measured inside work: what it adds there is what it costs.
Plan make_plan(const Options& options);

// CPUs that this process may run on.
std::vector<int> allowed_cpus();

}  // namespace vvarclock::bench
