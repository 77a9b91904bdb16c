// Guards the tails: every value in a bucket no wider than promised, percentiles that are never
// below the true ones, nothing lost when counts travel or are added up.
#include "bench/histogram.h"

#include "test/support/catch.h"

namespace vvarclock::bench {
namespace {

TEST_CASE("a bucket holds the value and is at most 1/128 of it wide") {
  std::uint64_t wrong = 0;
  for (unsigned bits = 0; bits < Histogram::kTopBits; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t value : {power - 1, power, power + power / 3, 2 * power - 1}) {
      const std::uint64_t end = Histogram::upper_end(Histogram::bucket_of(value));
      wrong += end < value || end - value > value / 128 ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
  CHECK(Histogram::bucket_of(127) != Histogram::bucket_of(128));
  CHECK(Histogram::bucket_of(255) != Histogram::bucket_of(254));
  CHECK(Histogram::bucket_of(~std::uint64_t{0}) ==
        Histogram::bucket_of((std::uint64_t{1} << Histogram::kTopBits) - 1));
}

TEST_CASE("percentiles by nearest rank") {
  // Wikipedia, "Percentile", nearest-rank method: of 15, 20, 35, 40, 50 the 5th, 30th, 40th, 50th
  // and 100th are 15, 20, 20, 35, 50.
  Histogram histogram;
  for (const std::uint64_t value : {35U, 15U, 50U, 40U, 20U}) {
    histogram.add(value);
  }
  CHECK(histogram.count() == 5);
  CHECK(histogram.quantile(0.05) == 15);
  CHECK(histogram.quantile(0.3) == 20);
  CHECK(histogram.quantile(0.4) == 20);
  CHECK(histogram.quantile(0.5) == 35);
  CHECK(histogram.quantile(1) == 50);
  CHECK(Histogram().quantile(0.5) == 0);
}

TEST_CASE("the largest value is kept exactly") {
  Histogram histogram;
  histogram.add(3);
  histogram.add(1'000'003);
  CHECK(histogram.maximum() == 1'000'003);
  CHECK(histogram.quantile(1) == 1'000'003);
}

TEST_CASE("counts add up, and survive being stored") {
  Histogram one;
  Histogram two;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    one.add(i * i);
    two.add(7 * i);
  }
  Histogram both = Histogram(one.store());
  CHECK(both.quantile(0.7) == one.quantile(0.7));
  both.add(two);
  CHECK(both.count() == 10'000);
  CHECK(both.maximum() == 4999U * 4999U);
  CHECK(Histogram(both.store()).quantile(0.99) == both.quantile(0.99));
}

}  // namespace
}  // namespace vvarclock::bench
