// Guards the table of what a start costs: numbers in the wrong row, or made up where nothing was
// timed.
#include "doctor/start_up.h"

#include "test/support/catch.h"

namespace vvarclock::doctor {
namespace {

constexpr const char* kReport =
    R"({"version": "1", "start_up_cycles": {"options": 10, "image": 20, "parse": 30, "scan": 40, )"
    R"("probe": 50, "attach": 60}, "served": {"attach": 7}})";

TEST_CASE("the steps are read from the report") {
  StepCycles cycles{};
  REQUIRE(read_step_cycles(kReport, cycles));
  CHECK(cycles == StepCycles{10, 20, 30, 40, 50, 60});
}

TEST_CASE("a report in which nothing was timed has no steps") {
  StepCycles cycles{};
  CHECK_FALSE(read_step_cycles("", cycles));
  CHECK_FALSE(read_step_cycles(R"({"start_up_cycles": null, "options": 1})", cycles));
  CHECK_FALSE(read_step_cycles(R"({"start_up_cycles": {"options": 1}, "image": 2})", cycles));
  CHECK_FALSE(read_step_cycles(R"({"start_up_cycles": {"options": x}})", cycles));
}

TEST_CASE("a program that reports nothing gives no figures") {
  CHECK(time_start_up("/bin/true", 3, 1e9).steps.empty());
  CHECK(time_start_up("/no/such/program", 3, 1e9).steps.empty());
}

}  // namespace
}  // namespace vvarclock::doctor
