// Guards against: a borrow or a carry lost between the halves of a 64-bit number.
//
// Reference: 64-bit integers. A build for 32-bit x86 tests the instructions that the hot path has
// there, any other build the portable form.
#include "arch/halves.h"

#include <array>
#include <cstring>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/watched_page.h"

namespace vvarclock::arch {
namespace {

struct Field {
  explicit Field(std::uint64_t value) { std::memcpy(bytes.data(), &value, sizeof value); }
  std::array<std::byte, 8> bytes{};
};

void check(std::uint64_t a, std::uint64_t b) {
  const Field field(b);
  const bool right =
      static_cast<std::uint64_t>(Halves(a)) == a && load_halves(field.bytes.data()) == Halves(b) &&
      minus(Halves(a), field.bytes.data()) == Halves(a - b) &&
      plus(Halves(a), field.bytes.data()) == Halves(a + b) &&
      plus(Halves(a), low_half(b)) == Halves(a + low_half(b)) &&
      product(low_half(a), low_half(b)) == Halves(std::uint64_t{low_half(a)} * low_half(b)) &&
      low_half(a) == low_half(Halves(a)) && high_half(a) == high_half(Halves(a));
  if (!right) {
    CAPTURE(a, b);
    FAIL("a result differs from 64-bit integers");
  }
  for (std::uint32_t bits = 0; bits < 32; ++bits) {
    if (shifted_right(Halves(a), bits) != static_cast<std::uint32_t>(a >> bits) ||
        shifted_left(Halves(a), bits) != Halves(a << bits)) {
      CAPTURE(a, bits);
      FAIL("a shift differs from that of a 64-bit integer");
    }
  }
}

TEST_CASE("halves compute what 64-bit integers do", "[arch]") {
  for (const std::uint64_t a : test::kExtremes64) {
    for (const std::uint64_t b : test::kExtremes64) {
      check(a, b);
    }
  }
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    check(random.edgy_u64(), random.edgy_u64());
  }
}

TEST_CASE("a whole word is of one moment when its high half changes between two loads", "[arch]") {
  constexpr std::uint64_t kBefore = 0xffffffff;
  constexpr std::uint64_t kAfter = 0x100000000;
  struct Writer final : test::WatchedPage::Script {
    std::byte* field = nullptr;
    unsigned at = 0;
    void before_load(unsigned load) noexcept override {
      const std::uint64_t value = load < at ? kBefore : kAfter;
      std::memcpy(field, &value, sizeof value);
    }
  } writer;
  test::WatchedPage page;
  writer.field = page.written() + 64;
  for (writer.at = 1; writer.at <= 5; ++writer.at) {
    CAPTURE(writer.at);
    page.arm(&writer);
    const std::uint64_t value = load_whole(page.watched() + 64);
    page.disarm();
    CHECK((value == kBefore || value == kAfter));
  }
}

}  // namespace
}  // namespace vvarclock::arch
