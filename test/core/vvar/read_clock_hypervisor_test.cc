// Guards against: a hypervisor clock whose cycles are not put through the page's own anchors; a
// hypervisor page that vanishes, is all zero or never comes to rest, and a reader that waits for
// it.
//
// Reference: both clocks are counters like any other to the page (pvclock in ns, Hyper-V in 100
// ns), so the page's base plus whole units; 128-bit integers are not needed here, arch/x86 has
// them.
#include "core/vvar/read_clock.h"

#include <array>
#include <cstring>

#include "test/core/vvar/pages.h"
#include "test/support/catch.h"
#include "test/support/scripted_counter.h"

namespace vvarclock::vvar {
namespace {

using test::KindD;
using test::KindDm;
using test::KindV;
using test::kUntouched;
using test::ScriptedCounter;

// mult and shift as the kernel registers the two clock sources: 1 ns and 100 ns per unit.
constexpr test::Anchor kNanoseconds{7'000'000'000, 8388608, 23};
constexpr test::Anchor kHundreds{70'000'000, 1677721600, 24};

struct Record {
  alignas(64) std::array<std::byte, 64> bytes{};
  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  }
};

// Half a nanosecond per tick of a 2 GHz counter; 7 s at tick 1000.
Record pvclock_at_rest() {
  Record record;
  record.put<std::uint32_t>(0, 4);
  record.put<std::uint64_t>(8, 1000);
  record.put<std::uint64_t>(16, 7'000'000'000);
  record.put<std::uint32_t>(24, 1U << 31);
  record.put<std::uint8_t>(29, 1);
  return record;
}

// Half a unit (50 ns) per tick, 7 s at tick 0.
Record hvclock_at_rest() {
  Record record;
  record.put<std::uint32_t>(0, 1);
  record.put<std::uint64_t>(8, std::uint64_t{1} << 63);
  record.put<std::uint64_t>(16, 70'000'000);
  return record;
}

template <class Kind>
void write_page(const test::Page<Kind>& page, std::int32_t mode, const test::Anchor& anchor) {
  page.write.seq(6);
  page.write.mode(mode);
  page.write.anchor(anchor);
  for (const NamedClock& clock : kServedClocks) {
    page.write.base(clock.id, 1000 + clock.id, std::uint64_t{500} << anchor.shift);
  }
}

TEMPLATE_TEST_CASE("mode pvclock: the record's nanoseconds since cycle_last", "[vvar]", KindD,
                   KindDm, KindV) {
  test::Page<TestType> page;
  write_page(page, 2, kNanoseconds);
  const Record record = pvclock_at_rest();
  Binding binding = page.binding();
  binding.counters.pvclock = record.bytes.data();
  for (const ClockId id : {kRealtime, kMonotonic, kMonotonicRaw, kBoottime, kTai}) {
    CAPTURE(id);
    ScriptedCounter::always(1000 + 2 * 4'200'000'000);  // 4.2 s: more than a narrow delta
    SecNsec time{};
    REQUIRE(read_clock<TestType::kBlock, ScriptedCounter>(binding, id, time));
    CHECK(time == SecNsec{1004 + id, 200'000'500});
    ScriptedCounter::always(1000 + 2 * 3000);
    SecNsec hot{};
    REQUIRE(read_clock_once<TestType::kBlock, ScriptedCounter>(page.data(), binding.counters, id,
                                                               hot) == Attempt::kDone);
    CHECK(hot == SecNsec{1000 + id, 3500});
    // The line for this mode alone gives the same, the line for another one hands over.
    SecNsec line{};
    REQUIRE(read_clock_once<TestType::kBlock, ScriptedCounter, Path::kHot, arch::kModePvclock>(
                page.data(), binding.counters, id, line) == Attempt::kDone);
    CHECK(line == hot);
    CHECK(read_clock_once<TestType::kBlock, ScriptedCounter, Path::kHot, arch::kModeTsc>(
              page.data(), binding.counters, id, line) == Attempt::kBusy);
    CHECK(line == hot);
  }
}

TEMPLATE_TEST_CASE("mode hvclock: units of 100 ns since cycle_last", "[vvar]", KindD, KindDm,
                   KindV) {
  test::Page<TestType> page;
  write_page(page, 3, kHundreds);
  const Record record = hvclock_at_rest();
  Binding binding = page.binding();
  binding.counters.hvclock = record.bytes.data();
  for (const ClockId id : {kRealtime, kMonotonic, kMonotonicRaw, kBoottime, kTai}) {
    CAPTURE(id);
    ScriptedCounter::always(2 * 42'000'000);
    SecNsec time{};
    REQUIRE(read_clock<TestType::kBlock, ScriptedCounter>(binding, id, time));
    CHECK(time == SecNsec{1004 + id, 200'000'500});
  }
}

TEST_CASE("a record behind cycle_last stands still", "[vvar]") {
  test::Page<KindV> page;
  write_page(page, 2, kNanoseconds);
  Record record = pvclock_at_rest();
  record.put<std::uint64_t>(16, 6'999'999'000);
  Binding binding = page.binding();
  binding.counters.pvclock = record.bytes.data();
  ScriptedCounter::always(1000);
  SecNsec time{};
  REQUIRE(read_clock<kBlockV, ScriptedCounter>(binding, kMonotonic, time));
  CHECK(time == SecNsec{1001, 500});
}

TEST_CASE("an all-zero hypervisor page, or none, is the kernel's at once; coarse clocks stay",
          "[vvar]") {
  const Record zero;
  for (const std::int32_t mode : {2, 3}) {
    for (const bool mapped : {false, true}) {
      CAPTURE(mode, mapped);
      test::Page<KindV> page;
      write_page(page, mode, kNanoseconds);
      Binding binding = page.binding();
      if (mapped) {
        binding.counters = {zero.bytes.data(), zero.bytes.data()};
      }
      ScriptedCounter::always(5000);
      SecNsec time = kUntouched;
      CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(binding, kMonotonic, time));
      CHECK(time == kUntouched);
      CHECK(ScriptedCounter::reads() <= 1);
      CHECK(read_clock<kBlockV, ScriptedCounter>(binding, kMonotonicCoarse, time));
    }
  }
}

TEST_CASE("a version that stays odd ends in a refusal after the bound", "[vvar]") {
  test::Page<KindV> page;
  write_page(page, 2, kNanoseconds);
  Record record = pvclock_at_rest();
  record.put<std::uint32_t>(0, 5);
  Binding binding = page.binding();
  binding.counters.pvclock = record.bytes.data();
  ScriptedCounter::always(3000);
  SecNsec time = kUntouched;
  CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(binding, kMonotonic, time));
  CHECK(time == kUntouched);
  CHECK(ScriptedCounter::reads() == kMaxAttempts);
}

TEST_CASE("a version that comes to rest gives the new record's time", "[vvar]") {
  test::Page<KindV> page;
  write_page(page, 2, kNanoseconds);
  Record record = pvclock_at_rest();
  record.put<std::uint32_t>(0, 5);
  Binding binding = page.binding();
  binding.counters.pvclock = record.bytes.data();
  ScriptedCounter::run([&](std::uint64_t before) {
    if (before == 3) {
      record.put<std::uint64_t>(16, 7'000'010'000);
      record.put<std::uint32_t>(0, 6);
    }
    return std::uint64_t{1000};
  });
  SecNsec time{};
  REQUIRE(read_clock<kBlockV, ScriptedCounter>(binding, kMonotonic, time));
  CHECK(time == SecNsec{1001, 10'500});
  CHECK(ScriptedCounter::reads() == 5);
}

TEST_CASE("a Hyper-V page that turns invalid in the middle is the kernel's", "[vvar]") {
  test::Page<KindV> page;
  write_page(page, 3, kHundreds);
  Record record = hvclock_at_rest();
  Binding binding = page.binding();
  binding.counters.hvclock = record.bytes.data();
  ScriptedCounter::run([&](std::uint64_t) {
    record.put<std::uint32_t>(0, 0);
    return std::uint64_t{2};
  });
  SecNsec time = kUntouched;
  CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(binding, kMonotonic, time));
  CHECK(time == kUntouched);
  CHECK(ScriptedCounter::reads() == 1);
}

TEST_CASE("a switch from tsc to pvclock in the middle gives the time by pvclock", "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write, 4);
  const Record record = pvclock_at_rest();
  Binding binding = page.binding();
  binding.counters.pvclock = record.bytes.data();
  ScriptedCounter::run([&](std::uint64_t before) {
    if (before == 0) {
      write_page(page, 2, kNanoseconds);  // seq 6
    }
    return std::uint64_t{1000 + 2 * 3000};
  });
  SecNsec time{};
  REQUIRE(read_clock<kBlockV, ScriptedCounter>(binding, kMonotonic, time));
  CHECK(time == SecNsec{1001, 3500});
  CHECK(ScriptedCounter::reads() == 2);
}

}  // namespace
}  // namespace vvarclock::vvar
