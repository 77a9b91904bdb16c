// Guards against: a lattice that lets a stranger in, a line that falls or loses precision, a fit
// that believes the wrong mult or states a bound that does not hold.
#include "core/vvar/raw_line.h"

#include "core/vvar/mult_rule.h"
#include "core/vvar/raw_fit.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/raw_kernel.h"

namespace vvarclock::vvar {
namespace {

using test::Random;
using test::RawKernel;
using test::RawKernelConfig;

static_assert(tick_lattice(1000, 12).has(1000));
static_assert(tick_lattice(1000, 12).has(1012));
static_assert(!tick_lattice(1000, 12).has(1006));
static_assert(!tick_lattice(1000, 12).has(988), "cycle_last never goes back");
static_assert(tick_cycles(4'000'000, 1U << 23, 23) == 4'000'000, "kvm-clock at HZ=250");

RawSample sample_of(RawKernel& kernel) {
  RawSample sample;
  kernel.read_page(sample.before);
  sample.ns = kernel.system_call();
  kernel.read_page(sample.after);
  return sample;
}

TEST_CASE("a lattice holds its multiples and nothing else") {
  Random random;
  CAPTURE(random.seed());
  std::uint64_t wrong = 0;
  for (int i = 0; i < 300'000; ++i) {
    const auto tick = static_cast<std::uint32_t>(
        1 + random.below((std::uint64_t{1} << (4 + random.below(29))) - 1));
    const std::uint64_t origin = random.edgy_u64();
    const std::uint64_t steps = random.below((~std::uint64_t{0} / tick));
    const std::uint64_t off = random.below(tick);
    const TickLattice lattice = tick_lattice(origin, tick);
    wrong += lattice.has(origin + steps * tick) ? 0U : 1U;
    wrong += lattice.has(origin + steps * tick + off) == (off == 0) ? 0U : 1U;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every frequency's tick leads back to its mult") {
  Random random;
  CAPTURE(random.seed());
  for (const std::uint32_t hz : {100U, 250U, 300U, 1000U}) {
    for (int i = 0; i < 3000; ++i) {
      const auto khz = static_cast<std::uint32_t>(kLowestTscKhz + random.below(5'000'000));
      RawKernelConfig config;
      config.khz = khz;
      config.hz = hz;
      RawKernel kernel(config, random);
      RawFit fit;
      fit.reset(kernel.tick_ns());
      for (int step = 0; step < 8 && fit.models() == 0; ++step) {
        REQUIRE(fit.add(sample_of(kernel)) != FitStep::kContradicted);
        kernel.pass(1 + random.below(50'000'000));
      }
      // Two neighbours may share a tick; the offsets tell them apart later.
      INFO(khz << " kHz, HZ " << hz);
      REQUIRE(fit.models() >= 1);
      REQUIRE(fit.models() <= 4);
    }
  }
}

TEST_CASE("a line never falls, and its rate is exact for years") {
  Random random;
  CAPTURE(random.seed());
  std::uint64_t falls = 0;
  std::uint64_t wrong = 0;
  for (int i = 0; i < 200'000; ++i) {
    const MultShift raw = expected_mult_shift(
        static_cast<std::uint32_t>(kLowestTscKhz + random.below(kHighestTscKhz - kLowestTscKhz)));
    RawLine line;
    line.anchor = random.u64() >> 8;
    line.rate = std::uint64_t{raw.mult} << (kPartBits - raw.shift);
    line.set_base(Uint128{random.u64() >> 4} << kPartBits);
    const std::uint64_t forward = random.u64() >> (5 + random.below(58));
    const std::uint64_t counter = line.anchor + forward;
    falls += line.value(counter + random.below(1000)) < line.value(counter) ? 1U : 0U;
    const auto exact = static_cast<std::uint64_t>((Uint128{forward} * raw.mult) >> raw.shift);
    wrong += line.value(counter) - line.value(line.anchor) != exact ? 1U : 0U;
    wrong +=
        line.value(line.anchor - random.below(line.anchor)) != line.value(line.anchor) ? 1U : 0U;
    const std::uint64_t ns = random.below(1'000'000'000);
    wrong += line.value(line.anchor + line.cycles_of(ns)) - line.value(line.anchor) < ns ? 1U : 0U;
  }
  CHECK(falls == 0);
  CHECK(wrong == 0);
}

TEST_CASE("the stated bound holds from the anchor to the limit, for both kinds of kernel") {
  Random random;
  CAPTURE(random.seed());
  for (int machine = 0; machine < 60; ++machine) {
    RawKernelConfig config;
    config.khz = static_cast<std::uint32_t>(400'000 + random.below(5'000'000));
    config.hz = random.below(2) == 0 ? 1000 : 250;
    config.rounds = machine % 2 == 1;
    config.preempt_one_in = 100;
    CAPTURE(config.khz, config.hz, config.rounds);
    RawKernel kernel(config, random);
    RawFit fit;
    fit.reset(kernel.tick_ns());
    std::uint64_t beyond = 0;
    std::uint64_t ready = 0;
    for (int i = 0; i < 4000; ++i) {
      REQUIRE(fit.add(sample_of(kernel)) != FitStep::kContradicted);
      kernel.pass(random.below(2'000'000));
      if (!fit.is_ready()) {
        continue;
      }
      ++ready;
      const RawLine line = fit.line();
      RawPage page;
      kernel.read_page(page);
      const std::uint64_t truth = kernel.truth_at(page.counter);
      const std::uint64_t value = line.value(page.counter);
      const std::uint64_t apart = value > truth ? value - truth : truth - value;
      beyond += line.is_near(page) && page.counter < line.limit && apart > line.bound ? 1U : 0U;
      REQUIRE(line.mult == kernel.raw().mult);
    }
    CHECK(ready > 1000);
    CHECK(beyond == 0);
  }
}

TEST_CASE("samples that fit no kernel are contradictions, wide ones say nothing") {
  Random random;
  CAPTURE(random.seed());
  const RawKernelConfig config{};
  RawKernel kernel(config, random);
  RawFit fit;
  fit.reset(kernel.tick_ns());
  while (!fit.is_ready()) {
    REQUIRE(fit.add(sample_of(kernel)) != FitStep::kContradicted);
    kernel.pass(1'000'000);
  }
  const RawSample good = sample_of(kernel);
  // Outside this bracket, however slow its system call was.
  const std::uint64_t outside_ns = good.width() * 1'000'000 / config.khz + 1000;
  const auto step = [&](auto change) {
    RawFit copy = fit;
    RawSample bad = good;
    change(bad);
    return copy.add(bad);
  };
  CHECK(step([](RawSample&) {}) == FitStep::kKept);
  CHECK(step([&](RawSample& bad) { bad.ns += outside_ns; }) == FitStep::kContradicted);
  CHECK(step([&](RawSample& bad) { bad.ns -= outside_ns; }) == FitStep::kContradicted);
  CHECK(step([](RawSample& bad) { bad.after.cycle_last += 1; }) == FitStep::kContradicted);
  CHECK(step([](RawSample& bad) { bad.before.cycle_last -= 1; }) == FitStep::kContradicted);
  CHECK(step([](RawSample& bad) { bad.before.shift = bad.after.shift = 23; }) ==
        FitStep::kContradicted);
  CHECK(step([](RawSample& bad) { bad.after.counter = bad.before.counter; }) == FitStep::kUseless);
  CHECK(step([](RawSample& bad) { bad.after.counter += 200'000'000; }) == FitStep::kUseless);
}

}  // namespace
}  // namespace vvarclock::vvar
