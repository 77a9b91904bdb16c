#include "bench/plan.h"

#include <sched.h>

#include "arch/x86/cpu.h"

namespace vvarclock::bench {
namespace {

constexpr Effort kThorough{22, 24, 120, 20'000, 50'000, 10'000'000, 4};
constexpr Effort kQuick{3, 3, 40, 20'000, 10'000, 5'000'000, 1};

void add_subjects(Plan& plan, Shape shape) {
  for (const Call* const bare : plan.bare) {
    plan.subjects.push_back({shape, bare, kNoColumn});
  }
  const std::size_t ways = plan.columns.size() - (shape == Shape::kBackToBack ? 0 : 1);
  for (const Call* const call : plan.calls) {
    for (std::size_t column = 0; column < ways; ++column) {
      plan.subjects.push_back({shape, call, column});
    }
  }
}

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) {
        cpus.push_back(static_cast<int>(cpu));
      }
    }
  }
  return cpus;
}

std::size_t Plan::find(Shape shape, const Call* call, std::size_t column) const {
  std::size_t i = 0;
  while (i < subjects.size() &&
         (subjects[i].shape != shape || subjects[i].call != call || subjects[i].column != column)) {
    ++i;
  }
  return i;
}

std::size_t Plan::alone(Shape shape) const { return find(shape, bare.front(), kNoColumn); }

Plan make_plan(const Options& options) {
  Plan plan{columns(), {}, {}, {}, {1}, nullptr, options.quick ? kQuick : kThorough};
  for (std::size_t i = 0; i < kCalls.size(); ++i) {
    if (options.wanted.empty()) {
      plan.calls.push_back(&kCalls[i]);
    }
  }
  for (const std::size_t i : options.wanted) {
    plan.calls.push_back(&kCalls[i]);
  }
  for (const Call& bare : kBare) {
    if (bare.form != Form::kRdtscp || arch::has_rdtscp()) {
      plan.bare.push_back(&bare);
    }
  }
  for (const Shape shape : kShapes) {
    add_subjects(plan, shape);
  }
  plan.chosen = options.wanted.empty() ? &kCalls[find_call("CLOCK_MONOTONIC")] : plan.calls.front();
  const auto cpus = static_cast<unsigned>(allowed_cpus().size());
  if (cpus >= 2) {
    plan.threads.push_back(2);
  }
  if (cpus > 2) {
    plan.threads.push_back(cpus);
  }
  return plan;
}

}  // namespace vvarclock::bench
