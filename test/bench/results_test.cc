// Guards what is made of the samples: nanoseconds of cycles, work subtracted, pairs compared, and
// warnings when they are due.
#include "bench/results.h"

#include <cmath>

#include "test/bench/scene.h"
#include "test/support/catch.h"

namespace vvarclock::bench {
namespace {

bool near(double a, double b) { return std::abs(a - b) < 1e-9; }

Machine machine_of_the_scene() {
  Machine machine;
  machine.clock_mode = "tsc";
  machine.has_invariant_tsc = true;
  return machine;
}

std::size_t last(const Plan& plan) { return plan.columns.size() - 1; }

TEST_CASE("back to back: cycles, nanoseconds, and times as fast as libc") {
  const Plan plan = make_plan({});
  const Results results = combine(plan, machine_of_the_scene(), {scene::pass_of(plan)});
  const std::size_t at = plan.find(Shape::kBackToBack, plan.calls[0], kLibc);
  const double cycles = 10 + 2 * static_cast<double>(at);
  const Cell& libc = results.cells[at];
  CHECK(libc.tsc_cycles == cycles);
  CHECK(near(libc.ns.median, cycles / 2));
  CHECK(libc.ns.count == 3);
  CHECK(libc.times.count == 0);
  const Cell& next = results.cells[at + 1];
  CHECK(near(next.times.median, cycles / (cycles + 2)));
  CHECK(results.cell(Shape::kLoads, plan.calls[0], last(plan)) == nullptr);
}

TEST_CASE("inside work: the work is subtracted, and what is nearly nothing gets no ratio") {
  const Plan plan = make_plan({});
  Pass pass = scene::pass_of(plan);
  const std::size_t libc = plan.find(Shape::kLoads, plan.calls[0], kLibc);
  pass.cycles[plan.alone(Shape::kLoads)] = {100, 100, 100};
  pass.cycles[libc] = {140, 140, 140};
  pass.cycles[libc + 1] = {120, 120, 120};
  pass.cycles[libc + 2] = {101, 101, 101};
  const Results results = combine(plan, machine_of_the_scene(), {pass});
  CHECK(near(results.cells[libc].ns.median, 20));
  CHECK(results.cells[libc].tsc_cycles == 40);
  CHECK(near(results.cells[libc + 1].times.median, 2));
  CHECK(near(results.cells[libc + 2].ns.median, 0.5));
  CHECK(results.cells[libc + 2].times.count == 0);
  CHECK(near(results.cells[plan.alone(Shape::kLoads)].ns.median, 50));
}

TEST_CASE("samples of several processes count alike, with each one's own counter rate") {
  const Plan plan = make_plan({});
  Pass slower_counter = scene::pass_of(plan, 0.5);
  slower_counter.tsc_hz = scene::kHz / 2;
  const Results results =
      combine(plan, machine_of_the_scene(), {scene::pass_of(plan), slower_counter});
  CHECK(results.cells[0].ns.count == 6);
  CHECK(near(results.cells[0].ns.low, 5));
  CHECK(near(results.cells[0].ns.high, 5));
  CHECK(results.tails[0].count() == 200);
  CHECK(results.throughput[0].median == 2e6);
  CHECK(results.plan.effort.processes == 2);
}

TEST_CASE("warnings: none for steady figures, and the figure that moves is marked") {
  const Plan plan = make_plan({});
  Pass pass = scene::pass_of(plan);
  pass.throughput.assign(pass.throughput.size(), {1e6, 1e6});
  CHECK(warnings(combine(plan, machine_of_the_scene(), {pass})).empty());
  pass.cycles[2] = {10, 20, 40};
  const Results shaky = combine(plan, machine_of_the_scene(), {pass});
  CHECK(shaky.cells[2].unstable);
  REQUIRE(warnings(shaky).size() == 1);
  CHECK(warnings(shaky)[0].substr(0, 5) == "1 of ");
  CHECK(as_text(shaky).find('!') != std::string::npos);
}

TEST_CASE("warnings: a counter without a constant rate, and no page") {
  const Plan plan = make_plan({});
  Pass pass = scene::pass_of(plan);
  pass.throughput.assign(pass.throughput.size(), {1e6});
  const std::vector<std::string> all = warnings(combine(plan, {}, {pass}));
  REQUIRE(all.size() == 2);
  CHECK(all[0].find("constant rate") != std::string::npos);
  CHECK(all[1].find("system calls") != std::string::npos);
}

}  // namespace
}  // namespace vvarclock::bench
