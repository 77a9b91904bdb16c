// Guards the figures: the right statistics, every subject in every round, and a batch that is
// divided by its calls.
#include "doctor/measure.h"

#include "test/support/catch.h"

namespace vvarclock::doctor {
namespace {

std::uint64_t simulated_ns = 0;
std::uint64_t simulated_now() noexcept { return simulated_ns; }

// A call that costs so many simulated nanoseconds.
Subject costing(const char* name, std::uint64_t ns) {
  return {name, [ns](std::uint32_t calls) { simulated_ns += ns * calls; }};
}

TEST_CASE("the median and the quartiles, whatever the order") {
  const Figure figure = summarise("x", {50, 10, 40, 20, 30});
  CHECK(figure.name == "x");
  CHECK(figure.median == 30);
  CHECK(figure.low == 20);
  CHECK(figure.high == 40);
  CHECK(summarise("x", {1, 2}).median == 1.5);
  CHECK(summarise("x", {7}).high == 7);
  CHECK(summarise("x", {}).median == 0);
}

TEST_CASE("outliers do not move the median, and a wide middle half is unsteady") {
  CHECK(summarise("x", {10, 10, 10, 10, 1000000}).median == 10);
  CHECK_FALSE(is_unsteady(summarise("x", {10, 10, 10, 10, 1000000})));
  CHECK(is_unsteady(summarise("x", {10, 10, 10, 12, 12})));
}

TEST_CASE("every subject is given its own cost") {
  const std::vector<Figure> figures =
      measure({costing("cheap", 3), costing("dear", 1000), costing("free", 0)},
              {5, 50'000, &simulated_now});
  REQUIRE(figures.size() == 3);
  CHECK(figures[0].name == "cheap");
  CHECK(figures[0].median == 3);
  CHECK(figures[1].median == 1000);
  CHECK(figures[2].median == 0);
}

TEST_CASE("subjects take turns, and each round starts with another one") {
  std::string turns;
  const auto noting = [&turns](char name) {
    return Subject{std::string(1, name), [&turns, name](std::uint32_t calls) {
                     turns += name;
                     simulated_ns += 100ULL * calls;
                   }};
  };
  measure({noting('a'), noting('b'), noting('c')}, {4, 10'000, &simulated_now});
  REQUIRE(turns.size() > 12);
  CHECK(turns.substr(turns.size() - 12) == "abcbcacababc");
}

}  // namespace
}  // namespace vvarclock::doctor
