// Guards against: a mult or shift that the kernel would not choose, a frequency of a real machine
// that is refused, a max_cycles that is off by one.
//
// References: pairs seen on running kernels and the machines' frequencies; 128-bit integers for the
// promise behind the rule (600 s of cycles times mult fit 64 bits; kernel/time/clocksource.c).
#include "core/vvar/mult_rule.h"

#include "arch/int128.h"
#include "test/support/catch.h"
#include "test/support/random.h"

namespace vvarclock::vvar {
namespace {

using U128 = arch::Uint128;

constexpr U128 kOver64 = static_cast<U128>(1) << 64;

struct Seen {
  std::uint32_t khz;
  MultShift chosen;
};

constexpr Seen kSeen[]{
    {1'000'000, {8388608, 23}}, {2'000'000, {4194304, 23}}, {2'600'000, {6452775, 24}},
    {3'000'000, {5592405, 24}}, {3'600'000, {4660338, 24}}, {4'000'000, {2097152, 23}},
    {5'000'000, {3355443, 24}}, {10'000, {1677721600, 24}}, {24'000, {699050667, 24}},
    {25'000, {671088640, 24}},  {50'000, {335544320, 24}},  {62'500, {134217728, 23}},
    {100'000, {167772160, 24}}, {512'000, {32768000, 24}},
};

TEST_CASE("the rule gives what kernels were seen to choose", "[vvar]") {
  for (const Seen& seen : kSeen) {
    CAPTURE(seen.khz);
    CHECK(expected_mult_shift(seen.khz).mult == seen.chosen.mult);
    CHECK(expected_mult_shift(seen.khz).shift == seen.chosen.shift);
    CHECK(khz_of(seen.chosen) == seen.khz);
  }
}

TEST_CASE("what the rule gives is a rounded quotient, and 600 s of cycles fit", "[vvar]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 20'000; ++i) {
    const auto khz = static_cast<std::uint32_t>(1000 + random.below(30'000'000));
    const MultShift chosen = expected_mult_shift(khz);
    const U128 twice = (static_cast<U128>(1'000'000) << (chosen.shift + 1)) + khz;
    const U128 span = static_cast<U128>(khz) * 600'000;
    const bool rounded = static_cast<U128>(chosen.mult) == twice / (2 * static_cast<U128>(khz));
    const bool fits = span * chosen.mult < kOver64;
    // The rule counts whole bits of both factors, which gives away two at most; the next shift is
    // one more.
    const bool finest = chosen.shift == 32 || span * chosen.mult * 8 >= kOver64;
    if (chosen.shift < 1 || chosen.shift > 32 || !rounded || !fits || !finest) {
      CAPTURE(khz, chosen.mult, chosen.shift);
      CHECK(chosen.shift >= 1);
      CHECK(chosen.shift <= 32);
      CHECK(rounded);
      CHECK(fits);
      REQUIRE(finest);
    }
  }
}

TEST_CASE(
    "every frequency of a TSC is the kernel's choice, and its neighbours in mult or shift are not "
    "all",
    "[vvar]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 20'000; ++i) {
    const auto khz = static_cast<std::uint32_t>(kLowestTscKhz + 1 +
                                                random.below(kHighestTscKhz - kLowestTscKhz - 1));
    const MultShift chosen = expected_mult_shift(khz);
    if (!is_kernels_choice(chosen, arch::kModeTsc)) {
      CAPTURE(khz, chosen.mult, chosen.shift);
      REQUIRE(is_kernels_choice(chosen, arch::kModeTsc));
    }
    // Around 14.66 GHz, alone in the range, a pair's neighbour is the choice for another frequency.
    if ((khz < 14'660'151 || khz > 14'660'157) &&
        (is_kernels_choice({chosen.mult, chosen.shift - 1}, arch::kModeTsc) ||
         is_kernels_choice({chosen.mult * 2, chosen.shift + 1}, arch::kModeTsc))) {
      CAPTURE(khz, chosen.mult, chosen.shift);
      CHECK_FALSE(is_kernels_choice({chosen.mult, chosen.shift - 1}, arch::kModeTsc));
      REQUIRE_FALSE(is_kernels_choice({chosen.mult * 2, chosen.shift + 1}, arch::kModeTsc));
    }
  }
}

TEST_CASE("frequencies where 600 s take one bit more are the kernel's choice too", "[vvar]") {
  int tried = 0;
  for (int bits = 0; bits < 64; ++bits) {
    const std::uint64_t edge = (std::uint64_t{1} << bits) / 600'000;
    for (std::uint64_t khz = edge < 50 ? 0 : edge - 50; khz < edge + 50; ++khz) {
      if (khz > kLowestTscKhz + 1 && khz < kHighestTscKhz - 1) {
        CAPTURE(khz);
        CHECK(is_kernels_choice(expected_mult_shift(static_cast<std::uint32_t>(khz)),
                                arch::kModeTsc));
        ++tried;
      }
    }
  }
  CHECK(tried > 500);
}

TEST_CASE("the paravirtual clocks have one pair each", "[vvar]") {
  CHECK(is_kernels_choice({8388608, 23}, arch::kModePvclock));
  CHECK_FALSE(is_kernels_choice({8388609, 23}, arch::kModePvclock));
  CHECK_FALSE(is_kernels_choice({1677721600, 24}, arch::kModePvclock));
  CHECK(is_kernels_choice({1677721600, 24}, arch::kModeHvclock));
  CHECK_FALSE(is_kernels_choice({8388608, 23}, arch::kModeHvclock));
}

TEST_CASE("what no clock source can have is refused in every mode", "[vvar]") {
  for (const arch::ClockMode mode : {-1, 0, 1, 2, 3, 4, 0x7fffffff}) {
    CAPTURE(mode);
    CHECK_FALSE(is_kernels_choice({0, 0}, mode));
    CHECK_FALSE(is_kernels_choice({0, 24}, mode));
    CHECK_FALSE(is_kernels_choice({8388608, 33}, mode));
    CHECK_FALSE(is_kernels_choice({8388608, 0xffffffff}, mode));
    CHECK_FALSE(is_kernels_choice({0xffffffff, 32}, mode));
    CHECK_FALSE(is_kernels_choice({1, 32}, mode));
  }
  CHECK_FALSE(is_kernels_choice({8388608, 23}, arch::kModeNone));
}

TEST_CASE("max_cycles is the exact quotient with 11 percent to spare", "[vvar]") {
  CHECK(expected_max_cycles(0) == 0);
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t mult = random.edgy_u32() | 1U;
    const std::uint64_t largest =
        static_cast<std::uint64_t>(mult) + static_cast<std::uint64_t>(mult) * 11 / 100;
    const std::uint64_t cycles = expected_max_cycles(mult);
    const bool fits = static_cast<U128>(cycles) * largest < kOver64;
    const bool next_does_not =
        static_cast<U128>(cycles + 1) * largest >= kOver64 || cycles + 1 == 0;
    if (!fits || !next_does_not) {
      CAPTURE(mult, cycles);
      CHECK(fits);
      REQUIRE(next_does_not);
    }
  }
}

}  // namespace
}  // namespace vvarclock::vvar
