// What a set of samples says: middle, spread, error. Pure.
//
// The samples are not assumed to be distributed in any way: a busy machine makes a long tail on one
// side, so everything here is an order statistic.
#pragma once

#include <cstddef>
#include <vector>

namespace vvarclock::bench {

struct Summary {
  std::size_t count = 0;
  double median = 0;
  double low = 0;        // a quarter of the samples is below
  double high = 0;       // a quarter is above
  double deviation = 0;  // median absolute deviation from the median, in the samples' unit
  // Median absolute percentage error, as a fraction: the median of |x - median| / |x|. It is the
  // figure that nanobench prints beside a result (Result::medianAbsolutePercentError).
  double error = 0;
};

// The value below which the given part of the sorted samples lies, linear between neighbours
// (definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996). 0 for no
// samples.
double quantile(const std::vector<double>& sorted, double part);

Summary summarise(std::vector<double> samples);

// An error of 5 % or more: nanobench's bound for calling a result unstable.
bool is_unstable(const Summary& summary);

// a[i] / b[i] for the samples that were taken side by side; a slow moment of the machine falls on
// both. Where the lengths differ, the shorter one counts.
std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b);
// a[i] - b[i], likewise.
std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b);
std::vector<double> scaled(std::vector<double> samples, double factor);

}  // namespace vvarclock::bench
