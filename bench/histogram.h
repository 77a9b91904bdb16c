// How often a call took how long: counts in buckets that are never wider than 1/128 of their value,
// so that millions of calls need no memory of their own. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vvarclock::bench {

class Histogram {
 public:
  Histogram();
  explicit Histogram(const std::vector<double>& stored);  // what store() gave

  void add(std::uint64_t value) noexcept {
    ++counts_[bucket_of(value)];
    maximum_ = value > maximum_ ? value : maximum_;
  }
  void add(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const;
  // The value that the given part of the values does not exceed (the bucket's upper end; the
  // largest value itself for 1). 0 when empty.
  [[nodiscard]] std::uint64_t quantile(double part) const;
  [[nodiscard]] std::uint64_t maximum() const noexcept { return maximum_; }

  // The maximum, then the counts: numbers that a double holds exactly.
  [[nodiscard]] std::vector<double> store() const;

  // Values below 2^kExactBits have a bucket each; larger ones share 2^kExactBits for each power of
  // two. What is beyond 2^kTopBits counts in the last bucket.
  static constexpr unsigned kExactBits = 7;
  static constexpr unsigned kTopBits = 40;
  static std::size_t bucket_of(std::uint64_t value) noexcept;
  static std::uint64_t upper_end(std::size_t bucket) noexcept;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t maximum_ = 0;
};

}  // namespace vvarclock::bench
