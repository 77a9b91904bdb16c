// Guards against: a pvclock record taken while the hypervisor writes it, or without its STABLE
// flag; a delta below zero that wraps; a shift of the wrong sign; a product that loses its high
// bits.
//
// References: 128-bit integers, and the record's description in Documentation/virt/kvm/x86/msr.rst
// (KVM_SYSTEM_TIME_NEW).
#include "arch/x86/pvclock.h"

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

constexpr std::uint32_t kHalf = 1U << 31;  // half a nanosecond per shifted tick

// Multiplication and division in place of shifts; bits above 2^64 fall off before the
// multiplication, as in the kernel.
std::uint64_t reference_scale(std::uint64_t ticks, std::uint32_t mul, int shift) {
  const U128 power = static_cast<U128>(1) << static_cast<unsigned>(shift < 0 ? -shift : shift);
  const auto shifted = static_cast<std::uint64_t>(shift < 0 ? ticks / power : ticks * power);
  return static_cast<std::uint64_t>((static_cast<U128>(shifted) * mul) /
                                    (static_cast<U128>(1) << 32));
}

class Record {
 public:
  Record() {
    set<std::uint32_t>(0, 4);  // version
    set<std::uint64_t>(8, 1000);
    set<std::uint64_t>(16, 5'000'000);
    set<std::uint32_t>(24, kHalf);
    set<std::int8_t>(28, 1);
    set<std::uint8_t>(29, 1);  // STABLE
  }

  template <class T>
  void set(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
  }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }

 private:
  alignas(64) std::array<std::byte, 64> bytes_{};
};

TEST_CASE("ticks are scaled exactly, with a shift of either sign", "[arch]") {
  for (const std::uint64_t ticks : test::kExtremes64) {
    for (const std::uint32_t mul : test::kExtremes32) {
      for (int shift = -63; shift <= 63; ++shift) {
        if (pvclock::scale_ticks(ticks, mul, shift) != reference_scale(ticks, mul, shift)) {
          CAPTURE(ticks, mul, shift);
          REQUIRE(pvclock::scale_ticks(ticks, mul, shift) == reference_scale(ticks, mul, shift));
        }
      }
    }
  }
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t ticks = random.edgy_u64();
    const std::uint32_t mul = random.edgy_u32();
    const int shift = static_cast<int>(random.below(127)) - 63;
    if (pvclock::scale_ticks(ticks, mul, shift) != reference_scale(ticks, mul, shift)) {
      CAPTURE(ticks, mul, shift);
      REQUIRE(pvclock::scale_ticks(ticks, mul, shift) == reference_scale(ticks, mul, shift));
    }
  }
}

TEST_CASE("scaling by hand", "[arch]") {
  CHECK(pvclock::scale_ticks(1000, kHalf, 0) == 500);
  CHECK(pvclock::scale_ticks(1000, kHalf, 1) == 1000);
  CHECK(pvclock::scale_ticks(1000, kHalf, -1) == 250);
  CHECK(pvclock::scale_ticks(~std::uint64_t{0}, kHalf, -63) == 0);
  CHECK(pvclock::scale_ticks(1, kHalf, 63) == std::uint64_t{1} << 62);
}

TEST_CASE("a record at rest is system_time plus the scaled ticks", "[arch]") {
  Record record;
  ScriptedCounter::always(3000);
  const Cycles cycles = pvclock::read<ScriptedCounter>(record.data());
  CHECK(cycles.attempt == Attempt::kDone);
  CHECK(cycles.value == 5'002'000);
  CHECK(ScriptedCounter::reads() == 1);
}

TEST_CASE("random records agree with 128-bit integers", "[arch]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    Record record;
    const std::uint64_t stamp = random.edgy_u64();
    const std::uint64_t delta = random.edgy_u64() >> 1;
    const std::uint64_t system_time = random.edgy_u64();
    const std::uint32_t mul = random.edgy_u32();
    const auto shift = static_cast<std::int8_t>(static_cast<int>(random.below(63)) - 31);
    record.set<std::uint32_t>(0, random.u32() & ~1U);
    record.set(8, stamp);
    record.set(16, system_time);
    record.set(24, mul);
    record.set(28, shift);
    record.set(29, static_cast<std::uint8_t>(random.u32() | 1U));
    ScriptedCounter::always(stamp + delta);
    const Cycles cycles = pvclock::read<ScriptedCounter>(record.data());
    const std::uint64_t want = system_time + reference_scale(delta, mul, shift);
    if (cycles.attempt != Attempt::kDone || cycles.value != want) {
      CAPTURE(stamp, delta, system_time, mul, int{shift}, cycles.value);
      REQUIRE(cycles.attempt == Attempt::kDone);
      REQUIRE(cycles.value == want);
    }
  }
}

TEST_CASE("a counter behind the record stands still at system_time", "[arch]") {
  Record record;
  record.set<std::uint64_t>(8, 1'000'000);
  for (const std::uint64_t behind : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1'000'000},
                                     std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
    CAPTURE(behind);
    ScriptedCounter::always(1'000'000 - behind);
    const Cycles cycles = pvclock::read<ScriptedCounter>(record.data());
    CHECK(cycles.attempt == Attempt::kDone);
    CHECK(cycles.value == 5'000'000);
  }
}

TEST_CASE("a record that is days old is still exact", "[arch]") {
  // A 3 GHz counter: 2/3 of a half nanosecond per tick shifted left by 0, rounded down as KVM does.
  Record record;
  const auto mul = static_cast<std::uint32_t>((static_cast<U128>(1) << 32) / 3);
  const std::uint64_t ticks = 3'000'000'000ULL * 86400 * 30;
  record.set(24, mul);
  record.set<std::int8_t>(28, 0);
  ScriptedCounter::always(1000 + ticks);
  const Cycles cycles = pvclock::read<ScriptedCounter>(record.data());
  CHECK(cycles.attempt == Attempt::kDone);
  CHECK(cycles.value == 5'000'000 + reference_scale(ticks, mul, 0));
  CHECK(cycles.value > 86400ULL * 29 * 1'000'000'000);
}

TEST_CASE("without the STABLE flag the kernel must be asked", "[arch]") {
  Record record;
  ScriptedCounter::always(3000);
  for (unsigned flags = 0; flags < 256; ++flags) {
    CAPTURE(flags);
    record.set(29, static_cast<std::uint8_t>(flags));
    const Attempt want = (flags & 1) != 0 ? Attempt::kDone : Attempt::kUnavailable;
    CHECK(pvclock::read<ScriptedCounter>(record.data()).attempt == want);
  }
}

TEST_CASE("an all-zero record gives no value", "[arch]") {
  alignas(64) std::array<std::byte, 64> zero{};
  ScriptedCounter::always(3000);
  CHECK(pvclock::read<ScriptedCounter>(zero.data()).attempt == Attempt::kUnavailable);
}

TEST_CASE("a version that is odd or changes in the middle is another try", "[arch]") {
  struct Case {
    std::uint32_t before;
    std::uint32_t during;
  };
  for (const Case c : {Case{5, 5}, Case{4, 5}, Case{4, 6}, Case{5, 6}, Case{0xffffffff, 0},
                       Case{0xffffffff, 0xffffffff}, Case{0xfffffffe, 0}}) {
    CAPTURE(c.before, c.during);
    Record record;
    record.set(0, c.before);
    ScriptedCounter::run([&](std::uint64_t) {
      record.set(0, c.during);
      return std::uint64_t{3000};
    });
    CHECK(pvclock::read<ScriptedCounter>(record.data()).attempt == Attempt::kBusy);
  }
}

TEST_CASE("fields of a half-written record never come out, whatever the flag says", "[arch]") {
  for (const std::uint8_t flags : {std::uint8_t{0}, std::uint8_t{1}}) {
    CAPTURE(int{flags});
    Record record;
    ScriptedCounter::run([&](std::uint64_t) {
      record.set<std::uint32_t>(0, 5);
      record.set<std::uint64_t>(16, 77);
      record.set(29, flags);
      return std::uint64_t{3000};
    });
    CHECK(pvclock::read<ScriptedCounter>(record.data()).attempt == Attempt::kBusy);
  }
}

}  // namespace
}  // namespace vvarclock::arch
