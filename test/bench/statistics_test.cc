// Guards the figures beside which a decision is made: the right quantiles, the error as its
// reference has it, pairs that stay pairs.
#include "bench/statistics.h"

#include "test/support/catch.h"

namespace vvarclock::bench {
namespace {

TEST_CASE("quantiles as definition 7 of Hyndman and Fan has them") {
  // R: quantile(c(1, 3, 4, 10), c(0, .25, .5, .75, 1)), whose default is that definition, gives
  // 1.0 2.5 3.5 5.5 10.0
  const std::vector<double> sorted{1, 3, 4, 10};
  CHECK(quantile(sorted, 0) == 1);
  CHECK(quantile(sorted, 0.25) == 2.5);
  CHECK(quantile(sorted, 0.5) == 3.5);
  CHECK(quantile(sorted, 0.75) == 5.5);
  CHECK(quantile(sorted, 1) == 10);
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({}, 0.5) == 0);
}

TEST_CASE("a summary, whatever the order of the samples") {
  const Summary summary = summarise({10, 3, 1, 4});
  CHECK(summary.count == 4);
  CHECK(summary.median == 3.5);
  CHECK(summary.low == 2.5);
  CHECK(summary.high == 5.5);
  // Distances from 3.5: 2.5, 0.5, 0.5, 6.5.
  CHECK(summary.deviation == 1.5);
  CHECK(summarise({}).count == 0);
  CHECK(summarise({}).error == 0);
}

TEST_CASE("the error is the median absolute percentage error") {
  // nanobench, Result::medianAbsolutePercentError: the median of |measurement - median| /
  // measurement. By hand for 8, 10, 16: 2/8, 0, 6/16; sorted 0, 0.25, 0.375.
  CHECK(summarise({8, 10, 16}).error == 0.25);
  // One outlier changes neither.
  CHECK(summarise({10, 10, 10, 10, 1000}).error == 0);
}

TEST_CASE("an error of 5 % is unstable, and less is not") {
  CHECK_FALSE(is_unstable(summarise({100, 104, 96})));
  CHECK(is_unstable(summarise({80, 100, 106})));
}

TEST_CASE("samples side by side are compared one by one") {
  CHECK(ratios({10, 20, 90}, {5, 40, 30}) == std::vector<double>{2, 0.5, 3});
  CHECK(ratios({1, 2, 3}, {1}) == std::vector<double>{1});
  CHECK(ratios({1}, {0}) == std::vector<double>{0});
  CHECK(differences({10, 20}, {5, 40, 1}) == std::vector<double>{5, -20});
  CHECK(scaled({1, 2}, 3) == std::vector<double>{3, 6});
}

}  // namespace
}  // namespace vvarclock::bench
