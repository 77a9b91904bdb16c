// Guards the words of the command line: what is asked for is what is measured, and a mistake is
// said before half a minute of measuring.
#include "bench/options.h"

#include "bench/calls.h"
#include "bench/plan.h"
#include "test/support/catch.h"

namespace vvarclock::bench {
namespace {

std::string parse(std::vector<std::string> words, Options& options) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  return parse_options(pointers, options);
}

std::string wrong(const std::vector<std::string>& words) {
  Options options;
  return parse(words, options);
}

TEST_CASE("every option") {
  Options options;
  CHECK(parse({"--quick", "--json", "a b", "--plot=x=y.svg", "--library", "/l.so", "--worker",
               "--help", "--id", "time"},
              options)
            .empty());
  CHECK(options.quick);
  CHECK(options.worker);
  CHECK(options.help);
  CHECK(options.json == "a b");
  CHECK(options.plot == "x=y.svg");
  CHECK(options.library == "/l.so");
  CHECK(options.wanted == std::vector<std::size_t>{find_call("time")});
}

TEST_CASE("without words everything is measured, thoroughly") {
  Options options;
  CHECK(parse({}, options).empty());
  CHECK_FALSE(options.quick);
  CHECK(make_plan(options).calls.size() == kCalls.size());
  options.quick = true;
  CHECK(make_plan(options).effort.rounds < make_plan({}).effort.rounds);
}

TEST_CASE("ids in any case, with CLOCK_ or without, once each, in the table's order") {
  Options options;
  CHECK(parse({"--id=gettimeofday", "--id", "monotonic", "--id=CLOCK_Monotonic", "--id",
               "realtime_coarse"},
              options)
            .empty());
  const Plan plan = make_plan(options);
  REQUIRE(plan.calls.size() == 3);
  CHECK(plan.calls[0]->name == std::string("CLOCK_MONOTONIC"));
  CHECK(plan.calls[1]->name == std::string("CLOCK_REALTIME_COARSE"));
  CHECK(plan.calls[2]->name == std::string("gettimeofday"));
  CHECK(plan.chosen == plan.calls[0]);
}

TEST_CASE("mistakes are named") {
  CHECK(wrong({"--fast"}) == "unknown option '--fast'");
  CHECK(wrong({"true"}) == "unknown option 'true'");
  CHECK(wrong({"--quick=1"}) == "unknown option '--quick=1'");
  CHECK(wrong({"--json"}) == "--json needs a value");
  CHECK(wrong({"--plot="}) == "--plot needs a value");
  CHECK(wrong({"--id", ""}) == "--id needs a value");
  const std::string unknown = wrong({"--id", "CLOCK_SUNDIAL"});
  CHECK(unknown.find("not 'CLOCK_SUNDIAL'") != std::string::npos);
  CHECK(unknown.find("CLOCK_BOOTTIME") != std::string::npos);
}

TEST_CASE("each subject of a plan is found where it is") {
  const Plan plan = make_plan({});
  for (std::size_t i = 0; i < plan.subjects.size(); ++i) {
    const Subject& subject = plan.subjects[i];
    REQUIRE(plan.find(subject.shape, subject.call, subject.column) == i);
  }
  CHECK(plan.find(Shape::kLoads, plan.calls[0], plan.columns.size() - 1) == plan.subjects.size());
  CHECK(plan.subjects[plan.alone(Shape::kLoads)].call->form == Form::kNothing);
}

}  // namespace
}  // namespace vvarclock::bench
