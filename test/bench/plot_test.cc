// Guards the picture: every way is drawn in its own colour, names that could break gnuplot's
// language do not.
#include "bench/plot.h"

#include "test/bench/scene.h"
#include "test/support/catch.h"

namespace vvarclock::bench {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string program_of(const Options& options, const Machine& machine, const std::string& file) {
  const Plan plan = make_plan(options);
  return gnuplot_program(combine(plan, machine, {scene::pass_of(plan)}), file);
}

TEST_CASE("title, units, machine and legend are in it") {
  Machine machine;
  machine.kernel = "Linux 9.9";
  machine.cpu = "A CPU";
  machine.clock_source = "tsc";
  const std::string program = program_of({}, machine, "out.svg");
  for (const char* const part :
       {"Linux 9.9", "A CPU", "clock source tsc", "'ns per call'", "set output 'out.svg'",
        "TSC 2000 MHz", "title 'libc'", "title 'ours, unordered'", "\"MONOTONIC_COARSE\""}) {
    CHECK(holds(program, part));
  }
}

TEST_CASE("quotes in names stay inside their strings") {
  Machine machine;
  machine.cpu = "a \"quoted\" CPU";
  const std::string program = program_of({}, machine, "it's.svg");
  CHECK(holds(program, "set output 'it''s.svg'"));
  CHECK(holds(program, "a 'quoted' CPU"));
}

TEST_CASE("only what is asked for gets bars, and the kernel's own clock none") {
  Options options;
  options.wanted = {find_call("CLOCK_PROCESS_CPUTIME_ID")};
  const std::string program = program_of(options, {}, "x");
  CHECK_FALSE(holds(program, "plot $calls"));
  CHECK(holds(program, "plot $tail0"));
  CHECK(holds(program, "plot $threads"));
  options.wanted.push_back(find_call("time"));
  CHECK(holds(program_of(options, {}, "x"), "plot $calls"));
}

}  // namespace
}  // namespace vvarclock::bench
