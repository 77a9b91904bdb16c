// Guards against: a Hyper-V page that is used while invalid or while it changes; a multiply that
// loses a carry; an offset whose sign is lost.
//
// References: 128-bit integers, and "Reference Time Stamp Counter (TSC) Page" of the Hyper-V
// specification, with Linux's rule that sequence 0 means invalid.
#include "arch/x86/hvclock.h"

#include <array>
#include <cstring>

#include "arch/int128.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/scripted_counter.h"

namespace vvarclock::arch {
namespace {

using U128 = arch::Uint128;
using test::ScriptedCounter;

// 100 ns units per tick of a 2 GHz counter: 1/200, as a 0.64 fraction.
constexpr std::uint64_t kScale2Ghz = ~std::uint64_t{0} / 200;

std::uint64_t reference(std::uint64_t tsc, std::uint64_t scale, std::uint64_t offset) {
  return static_cast<std::uint64_t>((static_cast<U128>(tsc) * scale) >> 64) + offset;
}

class Page {
 public:
  Page(std::uint32_t sequence, std::uint64_t scale, std::uint64_t offset) {
    set(0, sequence);
    set(8, scale);
    set(16, offset);
  }
  template <class T>
  void set(std::size_t place, T value) {
    std::memcpy(bytes_.data() + place, &value, sizeof(value));
  }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }

 private:
  alignas(64) std::array<std::byte, 64> bytes_{};
};

void check_arithmetic(std::uint64_t tsc, std::uint64_t scale, std::uint64_t offset) {
  const std::uint64_t want = reference(tsc, scale, offset);
  const Page page(1, scale, offset);
  ScriptedCounter::always(tsc);
  const Cycles cycles = hvclock::read<ScriptedCounter>(page.data());
  if (hvclock::reference_time(tsc, scale, offset) != want ||
      hvclock::reference_time_pieces(tsc, scale, offset) != want ||
      cycles.attempt != Attempt::kDone || cycles.value != want) {
    CAPTURE(tsc, scale, offset);
    CHECK(hvclock::reference_time(tsc, scale, offset) == want);
    CHECK(hvclock::reference_time_pieces(tsc, scale, offset) == want);
    REQUIRE(cycles.attempt == Attempt::kDone);
    REQUIRE(cycles.value == want);
  }
}

TEST_CASE("reference time agrees with 128-bit integers, in one multiply and in pieces", "[arch]") {
  for (const std::uint64_t tsc : test::kExtremes64) {
    for (const std::uint64_t scale : test::kExtremes64) {
      for (const std::uint64_t offset : test::kExtremes64) {
        check_arithmetic(tsc, scale, offset);
      }
    }
  }
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    check_arithmetic(random.edgy_u64(), random.edgy_u64(), random.edgy_u64());
    check_arithmetic(random.u64(), random.u64(), random.u64());
  }
}

TEST_CASE("a negative offset goes back", "[arch]") {
  // 20'000'000'000 ticks of 2 GHz are 10 s: 100'000'000 units, less one for the scale that was
  // rounded down.
  const auto minus = [](std::int64_t n) { return static_cast<std::uint64_t>(-n); };
  const Page page(1, kScale2Ghz, minus(40'000'000));
  ScriptedCounter::always(20'000'000'000);
  const Cycles cycles = hvclock::read<ScriptedCounter>(page.data());
  CHECK(cycles.attempt == Attempt::kDone);
  CHECK(cycles.value == 100'000'000 - 1 - 40'000'000);
}

TEST_CASE("sequence 0 sends the caller to the kernel without a read of the counter", "[arch]") {
  const Page page(0, kScale2Ghz, 0);
  ScriptedCounter::always(1);
  CHECK(hvclock::read<ScriptedCounter>(page.data()).attempt == Attempt::kUnavailable);
  CHECK(ScriptedCounter::reads() == 0);
}

TEST_CASE("sequence -1 is a sequence like any other", "[arch]") {
  const Page page(0xffffffff, kScale2Ghz, 5);
  ScriptedCounter::always(0);
  const Cycles cycles = hvclock::read<ScriptedCounter>(page.data());
  CHECK(cycles.attempt == Attempt::kDone);
  CHECK(cycles.value == 5);
}

TEST_CASE("a sequence that changes in the middle is another try", "[arch]") {
  for (const std::uint32_t during : {0U, 6U, 8U, 0xffffffffU}) {
    CAPTURE(during);
    Page page(7, kScale2Ghz, 0);
    ScriptedCounter::run([&](std::uint64_t) {
      page.set<std::uint64_t>(8, 1);
      page.set<std::uint64_t>(16, 2);
      page.set(0, during);
      return std::uint64_t{1000};
    });
    CHECK(hvclock::read<ScriptedCounter>(page.data()).attempt == Attempt::kBusy);
  }
}

}  // namespace
}  // namespace vvarclock::arch
