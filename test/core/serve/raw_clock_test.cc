// Guards against: a raw clock that is ever wrong by more than it says, ever steps back, or serves
// over a change that the kernel made.
//
// Simulated kernels (test/support/raw_kernel.h) of both rounding kinds; at every call the truth is
// known. Calls are nested at every place where time passes, as other threads and signal handlers
// would: a call that returned before another began must not have got a later time.
#include "core/serve/raw_clock.h"

#include <algorithm>

#include "test/core/serve/raw_caller.h"
#include "test/support/catch.h"

using namespace vvarclock;
using serve::RawClock;
using serve::RawState;
using test::Random;
using test::RawCaller;
using test::RawKernel;
using test::RawKernelConfig;

namespace {

RawKernelConfig random_machine(Random& random, bool rounds) {
  constexpr std::uint32_t kHz[] = {100, 250, 300, 1000};
  RawKernelConfig config;
  config.khz = static_cast<std::uint32_t>(800'000 + random.below(4'400'000));
  config.hz = kHz[random.below(4)];
  config.rounds = rounds;
  config.call_ns = static_cast<std::uint32_t>(90 + random.below(1200));
  config.preempt_one_in = 2000;
  config.late_one_in = 50;
  config.most_late = random.below(2) == 0 ? 3 : 30;
  return config;
}

// Bursts of calls, pauses of up to a tenth of a second.
void live(RawCaller& caller, Random& random, std::uint64_t ns) {
  const std::uint64_t end = caller.kernel.truth() + ns;
  while (caller.kernel.truth() < end && caller.is_right()) {
    for (std::uint64_t burst = random.below(60); burst > 0; --burst) {
      caller.call();
      caller.kernel.pass(random.below(100));
    }
    caller.kernel.pass(random.below(random.below(10) == 0 ? 100'000'000 : 4'000'000));
  }
}

bool calls_until(RawCaller& caller, RawState state) {
  for (int i = 0; i < 2'000'000 && caller.is_right(); ++i) {
    if (caller.clock->status().state == state) {
      return true;
    }
    caller.call();
    caller.kernel.pass(10'000);
  }
  return false;
}

void check(const RawCaller& caller) {
  INFO(caller.complaint());
  CHECK(caller.is_right());
}

}  // namespace

TEST_CASE("hours on kernels of both kinds: within the bound, and never a step back", "[long]") {
  Random random;
  CAPTURE(random.seed());
  std::uint64_t slowest_start = 0;
  std::uint64_t largest_bound = 0;
  std::uint64_t worst_error = 0;
  double least_share = 1;
  for (int machine = 0; machine < 16; ++machine) {
    const RawKernelConfig config = random_machine(random, machine % 2 == 1);
    CAPTURE(machine, config.khz, config.hz, config.rounds, config.call_ns);
    RawCaller caller(config, random);
    caller.nested_one_in = 50;
    REQUIRE(calls_until(caller, RawState::kServing));
    const std::uint64_t until_served = caller.kernel.truth() - caller.began;
    live(caller, random, 900'000'000'000);
    check(caller);
    const auto status = caller.clock->status();
    CHECK(status.state == RawState::kServing);
    CHECK(status.mult == caller.kernel.raw().mult);
    CHECK(status.contradictions == 0);
    if (status.knows_kind) {
      CHECK(status.rounds == config.rounds);
    }
    // Ticks that are late by many are beyond what a line is used for.
    const double share = static_cast<double>(caller.served) / static_cast<double>(caller.calls);
    CHECK(share > (config.most_late < vvar::kMaxPendingTicks ? 0.9 : 0.5));
    slowest_start = std::max(slowest_start, until_served);
    least_share = std::min(least_share, share);
    largest_bound = std::max(largest_bound, status.largest_bound);
    worst_error = std::max(worst_error, caller.worst);
  }
  WARN("slowest start " << slowest_start / 1'000'000 << " ms, least share served "
                        << 100 * least_share << " %, largest bound " << largest_bound
                        << " ns, worst error " << worst_error << " ns");
}

TEST_CASE("system calls that become much faster than those the line was found with") {
  Random random;
  CAPTURE(random.seed());
  for (const bool slow_entry : {false, true}) {
    for (int machine = 0; machine < 10; ++machine) {
      CAPTURE(slow_entry, machine);
      RawCaller caller(RawKernelConfig{}, random);
      caller.nested_one_in = 20;
      caller.kernel.set_latency(slow_entry ? 2000 : 20, slow_entry ? 20 : 2000);
      REQUIRE(calls_until(caller, RawState::kServing));
      live(caller, random, 500'000'000);
      caller.kernel.set_latency(20, 20);
      live(caller, random, 2'000'000'000);
      check(caller);
      CHECK(caller.clock->status().contradictions == 0);
      CHECK(caller.clock->status().bound < 200);
    }
  }
}

TEST_CASE("a machine on which everything happens") {
  Random random;
  CAPTURE(random.seed());
  for (int machine = 0; machine < 40; ++machine) {
    RawKernelConfig config = random_machine(random, machine % 2 == 1);
    config.preempt_one_in = 300;
    CAPTURE(machine, config.khz, config.hz, config.rounds, config.call_ns);
    RawCaller caller(config, random);
    caller.nested_one_in = 20;
    for (int event = 0; event < 40 && caller.is_right(); ++event) {
      live(caller, random, random.below(1'500'000'000));
      // In the middle of a call as well as between two.
      const auto happen = [&] {
        switch (random.below(4)) {
          case 0:
            return caller.kernel.step_clock();
          case 1:
            return caller.kernel.suspend(
                random.below(random.below(2) == 0 ? 10'000'000 : 10'000'000'000'000));
          case 2:
            return caller.kernel.suspend_and_lose_counter();
          default:
            return caller.kernel.change_source(
                1000 + random.below(50'000'000), random.below(500),
                random.below(2) == 0
                    ? config.khz
                    : static_cast<std::uint32_t>(900'000 + random.below(4'000'000)),
                [&] { caller.call(); });
        }
      };
      if (random.below(2) == 0) {
        happen();
      } else {
        caller.event = happen;
      }
    }
    check(caller);
    CHECK(caller.clock->status().contradictions > 0);
    REQUIRE(calls_until(caller, RawState::kServing));
  }
}

TEST_CASE("what the page tells is noticed before a single value is served over it") {
  Random random;
  CAPTURE(random.seed());
  for (const bool rounds : {false, true}) {
    for (int kind = 0; kind < 5; ++kind) {
      RawKernelConfig config;
      config.rounds = rounds;
      CAPTURE(rounds, kind);
      RawCaller caller(config, random);
      REQUIRE(calls_until(caller, RawState::kServing));
      RawKernel& kernel = caller.kernel;
      switch (kind) {
        case 0:
          kernel.step_clock();
          break;
        case 1:
          kernel.suspend(3'000'000);  // too short for the re-check to see
          break;
        case 2:
          kernel.suspend_and_lose_counter();
          break;
        case 3:
          kernel.change_source(2'000'000, 300, config.khz, [] {});
          break;
        default:
          kernel.change_source(2'000'000, 300, 2'400'000, [] {});
      }
      caller.call();
      check(caller);
      CHECK(caller.clock->status().contradictions == 1);
      CHECK(caller.clock->status().state == RawState::kContradicted);
      REQUIRE(calls_until(caller, RawState::kServing));
      CHECK(caller.clock->status().mult == kernel.raw().mult);
      check(caller);
    }
  }
}

TEST_CASE("a mode without a counter is the kernel's, and the line is gone") {
  Random random;
  CAPTURE(random.seed());
  RawKernelConfig config;
  RawCaller caller(config, random);
  REQUIRE(calls_until(caller, RawState::kServing));
  const std::uint64_t served = caller.served;
  caller.kernel.change_source(1'000'000, 0, config.khz, [&] {
    for (int i = 0; i < 100; ++i) {
      caller.call();
    }
    CHECK(caller.served == served);
    CHECK(caller.clock->status().state == RawState::kContradicted);
  });
  check(caller);
  REQUIRE(calls_until(caller, RawState::kServing));
}

TEST_CASE("what the page does not tell is noticed by the re-check, and still nothing steps back") {
  Random random;
  CAPTURE(random.seed());
  for (int kind = 0; kind < 4; ++kind) {
    CAPTURE(kind);
    RawCaller caller(RawKernelConfig{}, random);
    caller.nested_one_in = 10;
    REQUIRE(calls_until(caller, RawState::kServing));
    caller.checks_truth = false;  // nobody can be right here before the re-check
    switch (kind) {
      case 0:
        caller.kernel.jump_unseen(5'000'000);
        break;
      case 1:
        caller.kernel.jump_unseen(-5'000'000);
        break;
      case 2:
        caller.kernel.bend_unseen(40);  // 7 ppm
        break;
      default:
        caller.kernel.bend_unseen(-40);
    }
    const std::uint64_t changed = caller.kernel.truth();
    REQUIRE(calls_until(caller, RawState::kContradicted));
    // A rate shows in the first re-check that it has bent out of the interval.
    CHECK(caller.kernel.truth() - changed < 3 * RawClock::kRecheck);
    CHECK(caller.clock->status().contradictions == 1);
    live(caller, random, 20'000'000);
    INFO(caller.complaint());
    CHECK(caller.is_right());
    if (kind < 2) {
      REQUIRE(calls_until(caller, RawState::kServing));
      caller.checks_truth = true;
      live(caller, random, 2'000'000'000);
      check(caller);
    }
  }
}

TEST_CASE("a kernel that fits no rule is never served") {
  Random random;
  CAPTURE(random.seed());
  RawCaller caller(RawKernelConfig{}, random, 3'000'000);  // not this kernel's tick
  for (int i = 0; i < 100'000; ++i) {
    caller.call();
    caller.kernel.pass(random.below(2'000'000));
  }
  check(caller);
  CHECK(caller.served == 0);
  CHECK(caller.clock->status().state == RawState::kOff);
}

TEST_CASE("not begun, the kernel answers; what it refuses is refused") {
  Random random;
  RawCaller caller(RawKernelConfig{}, random, 0);
  for (int i = 0; i < 1000; ++i) {
    caller.call();
  }
  check(caller);
  CHECK(caller.served == 0);
  CHECK(caller.clock->status().state == RawState::kOff);
  caller.refusal = -38;
  CHECK(caller.ask() == -38);
}
