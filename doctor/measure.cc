#include "doctor/measure.h"

#include <algorithm>
#include <utility>

namespace vvarclock::doctor {
namespace {

double batch(const Subject& subject, std::uint32_t calls, const Plan& plan) {
  const std::uint64_t begin = plan.now();
  subject.run(calls);
  const std::uint64_t end = plan.now();
  return static_cast<double>(end - begin) / calls;
}

// How many calls fill the batch: doubled until the time that they take can be trusted.
std::uint32_t calls_per_batch(const Subject& subject, const Plan& plan) {
  constexpr std::uint32_t kMost = 1U << 20;
  std::uint32_t calls = 16;
  while (calls < kMost && batch(subject, calls, plan) * calls < plan.batch_ns / 4.0) {
    calls *= 2;
  }
  const double one = std::max(batch(subject, calls, plan), 0.1);
  return static_cast<std::uint32_t>(
      std::clamp(plan.batch_ns / one, 16.0, static_cast<double>(kMost)));
}

// The value below which the given part of the sorted samples lies.
double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

Figure summarise(std::string name, std::vector<double> samples) {
  Figure figure;
  figure.name = std::move(name);
  if (!samples.empty()) {
    std::sort(samples.begin(), samples.end());
    figure.median = quantile(samples, 0.5);
    figure.low = quantile(samples, 0.25);
    figure.high = quantile(samples, 0.75);
  }
  return figure;
}

std::vector<Figure> measure(const std::vector<Subject>& subjects, const Plan& plan) {
  std::vector<std::uint32_t> calls;
  calls.reserve(subjects.size());
  for (const Subject& subject : subjects) {
    calls.push_back(calls_per_batch(subject, plan));
  }
  std::vector<std::vector<double>> samples(subjects.size());
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      const std::size_t turn = (i + round) % subjects.size();
      samples[turn].push_back(batch(subjects[turn], calls[turn], plan));
    }
  }
  std::vector<Figure> figures;
  figures.reserve(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    figures.push_back(summarise(subjects[i].name, std::move(samples[i])));
  }
  return figures;
}

bool is_unsteady(const Figure& figure) { return figure.high - figure.low > figure.median / 10; }

}  // namespace vvarclock::doctor
