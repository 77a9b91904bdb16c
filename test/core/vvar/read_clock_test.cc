// Guards against: a field of the wrong block, a delta on the wrong side of the narrow form, a
// coarse clock that reads the counter, an id or mode that is answered although it is the kernel's,
// a time that is written without an answer.
//
// Reference: ns = (base + delta * mult) >> shift in 128-bit integers, a negative delta being 0
// (lib/vdso/gettimeofday.c).
#include "core/vvar/read_clock.h"

#include "arch/int128.h"
#include "test/core/vvar/pages.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/scripted_counter.h"

namespace vvarclock::vvar {
namespace {

using U128 = arch::Uint128;
using test::k2Ghz;
using test::KindD;
using test::KindDm;
using test::KindV;
using test::kUntouched;
using test::ScriptedCounter;

// What a page at rest (page_writer.h) says `delta` cycles of 2 GHz after cycle_last.
SecNsec at_rest(ClockId id, std::uint64_t delta) {
  const std::uint64_t ns = id * 1000U + (is_in(id, kCoarseIds) ? 0 : delta / 2);
  return {1000 + id + ns / kNsPerSec, ns % kNsPerSec};
}

TEMPLATE_TEST_CASE("every served clock is read from its own slot and block", "[vvar]", KindD,
                   KindDm, KindV) {
  test::Page<TestType> page;
  test::write_page_at_rest(page.write);
  for (const std::uint64_t delta :
       {0ULL, 2ULL, 123'456ULL, 0x7ffffffeULL, 0x80000000ULL, 600'000'000'000ULL}) {
    for (const NamedClock& clock : kServedClocks) {
      CAPTURE(clock.name, delta);
      ScriptedCounter::always(k2Ghz.cycle_last + delta);
      SecNsec time = kUntouched;
      REQUIRE(read_clock<TestType::kBlock, ScriptedCounter>(page.binding(), clock.id, time));
      CHECK(time.sec == at_rest(clock.id, delta).sec);
      CHECK(time.nsec == at_rest(clock.id, delta).nsec);
      CHECK(ScriptedCounter::reads() == (is_in(clock.id, kCoarseIds) ? 0 : 1));
    }
  }
}

TEMPLATE_TEST_CASE("the hot path gives the same or hands over", "[vvar]", KindD, KindDm, KindV) {
  test::Page<TestType> page;
  test::write_page_at_rest(page.write);
  const auto hot = [&](ClockId id, std::uint64_t counter) {
    ScriptedCounter::always(counter);
    SecNsec time = kUntouched;
    const Attempt attempt =
        read_clock_once<TestType::kBlock, ScriptedCounter>(page.data(), {}, id, time);
    CHECK((attempt == Attempt::kDone || time == kUntouched));
    return attempt == Attempt::kDone ? time : kUntouched;
  };
  for (const NamedClock& clock : kServedClocks) {
    CAPTURE(clock.name);
    CHECK(hot(clock.id, k2Ghz.cycle_last + 5000) == at_rest(clock.id, 5000));
    CHECK(hot(clock.id, k2Ghz.cycle_last + 0x7fffffff) == at_rest(clock.id, 0x7fffffff));
    if (!is_in(clock.id, kCoarseIds)) {
      CHECK(hot(clock.id, k2Ghz.cycle_last + 0x80000000U) == kUntouched);  // large
      CHECK(hot(clock.id, k2Ghz.cycle_last - 1) == kUntouched);            // negative
    }
  }
}

TEST_CASE("a counter behind the page stands still at its base", "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write);
  for (const std::uint64_t behind : {1ULL, 1000ULL, 1'000'000'000'000ULL, 1ULL << 62}) {
    for (const ClockId id : {kRealtime, kMonotonic, kMonotonicRaw, kBoottime, kTai}) {
      CAPTURE(id, behind);
      ScriptedCounter::always(k2Ghz.cycle_last - behind);
      SecNsec time{};
      REQUIRE(read_clock<kBlockV, ScriptedCounter>(page.binding(), id, time));
      CHECK(time == at_rest(id, 0));
    }
  }
}

TEST_CASE("random pages agree with 128-bit integers on both paths", "[vvar]") {
  test::Random random;
  CAPTURE(random.seed());
  test::Page<KindDm> page;
  int hot_answers = 0;
  for (int i = 0; i < 50'000; ++i) {
    const auto shift = static_cast<std::uint32_t>(random.below(33));
    const test::Anchor anchor{random.edgy_u64(), random.edgy_u32(), shift};
    const std::uint64_t base = random.edgy_u64() % (std::uint64_t{kNsPerSec} << shift);
    const std::uint64_t sec = random.edgy_u64() >> 2;
    const std::uint64_t delta = random.edgy_u64();
    page.write.seq(random.u32() & ~1U);
    page.write.mode(1);
    page.write.anchor(anchor);
    const ClockId id = kServedClocks[random.index_below(3)].id;
    page.write.base(id, sec, base);

    const std::uint64_t forward = (delta >> 63) != 0 ? 0 : delta;
    const auto ns =
        static_cast<std::uint64_t>((static_cast<U128>(forward) * anchor.mult + base) >> shift);
    const SecNsec want{sec + ns / kNsPerSec, ns % kNsPerSec};
    ScriptedCounter::always(anchor.cycle_last + delta);
    SecNsec time{};
    SecNsec hot_time{};
    const bool full = read_clock<kBlockDm, ScriptedCounter>(page.binding(), id, time);
    const Attempt hot = read_clock_once<kBlockDm, ScriptedCounter>(page.data(), {}, id, hot_time);
    hot_answers += hot == Attempt::kDone ? 1 : 0;
    if (!full || !(time == want) || (hot == Attempt::kDone && !(hot_time == want))) {
      CAPTURE(id, shift, anchor.mult, base, sec, delta, time.sec, time.nsec, hot_time.sec,
              hot_time.nsec);
      REQUIRE(full);
      REQUIRE(time == want);
      REQUIRE(hot_time == want);
    }
  }
  CHECK(hot_answers > 0);
}

TEST_CASE("ids that are not served are the kernel's, without a read of the counter", "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write);
  ScriptedCounter::always(k2Ghz.cycle_last);
  for (const int id : {-2147483647 - 1,
                       -4096,
                       -2,
                       -1,
                       2,
                       3,
                       8,
                       9,
                       10,
                       12,
                       15,
                       16,
                       23,
                       24,
                       31,
                       32,
                       33,
                       36,
                       39,
                       43,
                       4096,
                       2147483647}) {
    CAPTURE(id);
    SecNsec time = kUntouched;
    CHECK_FALSE(
        read_clock<kBlockV, ScriptedCounter>(page.binding(), static_cast<ClockId>(id), time));
    CHECK(time == kUntouched);
  }
  CHECK(ScriptedCounter::reads() == 0);
}

TEST_CASE(
    "a mode without a counter leaves the high-resolution clocks to the kernel and serves the "
    "coarse ones",
    "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write);
  ScriptedCounter::always(k2Ghz.cycle_last);
  for (const std::int32_t mode :
       {0, 2, 3, 4, -1, 0x7fffffff}) {  // 2 and 3: without their pages; the marks: with an even seq
    page.write.mode(mode);
    for (const NamedClock& clock : kServedClocks) {
      CAPTURE(mode, clock.name);
      SecNsec time = kUntouched;
      const bool coarse = is_in(clock.id, kCoarseIds);
      CHECK(read_clock<kBlockV, ScriptedCounter>(page.binding(), clock.id, time) == coarse);
      CHECK(time == (coarse ? at_rest(clock.id, 0) : kUntouched));
    }
  }
  CHECK(ScriptedCounter::reads() == 0);
}

TEST_CASE("a forbidden counter leaves only the coarse clocks", "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write);
  for (const NamedClock& clock : kServedClocks) {
    CAPTURE(clock.name);
    SecNsec time = kUntouched;
    const bool coarse = is_in(clock.id, kCoarseIds);
    CHECK(read_clock<kBlockV, arch::ForbiddenCounter>(page.binding(), clock.id, time) == coarse);
    CHECK(time == (coarse ? at_rest(clock.id, 0) : kUntouched));
  }
}

}  // namespace
}  // namespace vvarclock::vvar
