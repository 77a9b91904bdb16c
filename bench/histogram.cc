#include "bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace vvarclock::bench {
namespace {

constexpr std::size_t kBuckets = std::size_t{Histogram::kTopBits - Histogram::kExactBits + 1}
                                 << Histogram::kExactBits;

}  // namespace

std::size_t Histogram::bucket_of(std::uint64_t value) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(value));
  if (bits <= kExactBits) {
    return static_cast<std::size_t>(value);
  }
  if (bits > kTopBits) {
    return kBuckets - 1;
  }
  const unsigned dropped = bits - kExactBits - 1;  // of the value's low bits
  return (std::size_t{dropped} << kExactBits) + static_cast<std::size_t>(value >> dropped);
}

std::uint64_t Histogram::upper_end(std::size_t bucket) noexcept {
  constexpr std::size_t kExact = std::size_t{1} << kExactBits;
  if (bucket < 2 * kExact) {
    return bucket;
  }
  const std::size_t dropped = (bucket >> kExactBits) - 1;
  const std::uint64_t top = kExact + bucket % kExact;
  return ((top + 1) << dropped) - 1;
}

Histogram::Histogram() : counts_(kBuckets) {}

Histogram::Histogram(const std::vector<double>& stored) : Histogram() {
  for (std::size_t i = 1; i < std::min(stored.size(), kBuckets + 1); ++i) {
    counts_[i - 1] = static_cast<std::uint64_t>(stored[i]);
  }
  maximum_ = stored.empty() ? 0 : static_cast<std::uint64_t>(stored[0]);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    counts_[i] += other.counts_[i];
  }
  maximum_ = std::max(maximum_, other.maximum_);
}

std::uint64_t Histogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::uint64_t Histogram::quantile(double part) const {
  // Nearest rank: the smallest value that at least this part of the values does not exceed.
  // The product may be a hair above the whole number that is meant.
  constexpr double kHair = 1e-9;
  const auto rank =
      static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count()) - kHair));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen != 0 && seen >= rank) {
      return std::min(upper_end(i), maximum_);
    }
  }
  return maximum_;
}

std::vector<double> Histogram::store() const {
  std::vector<double> stored{static_cast<double>(maximum_)};
  for (const std::uint64_t count : counts_) {
    stored.push_back(static_cast<double>(count));
  }
  return stored;
}

}  // namespace vvarclock::bench
