#include "bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace vvarclock::bench {
namespace {

double median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return quantile(samples, 0.5);
}

}  // namespace

double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) {
    return 0;
  }
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

Summary summarise(std::vector<double> samples) {
  Summary summary;
  std::sort(samples.begin(), samples.end());
  summary.count = samples.size();
  summary.median = quantile(samples, 0.5);
  summary.low = quantile(samples, 0.25);
  summary.high = quantile(samples, 0.75);
  std::vector<double> absolute;
  std::vector<double> relative;
  for (const double sample : samples) {
    const double distance = std::abs(sample - summary.median);
    absolute.push_back(distance);
    relative.push_back(sample == 0 ? 0 : distance / std::abs(sample));
  }
  summary.deviation = median_of(std::move(absolute));
  summary.error = median_of(std::move(relative));
  return summary;
}

bool is_unstable(const Summary& summary) { return summary.error >= 0.05; }

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    result.push_back(b[i] == 0 ? 0 : a[i] / b[i]);
  }
  return result;
}

std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    result.push_back(a[i] - b[i]);
  }
  return result;
}

std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& sample : samples) {
    sample *= factor;
  }
  return samples;
}

}  // namespace vvarclock::bench
