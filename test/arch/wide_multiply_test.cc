// Guards against: a multiplication that loses a carry between its halves.
//
// References: the form in pieces against 128-bit integers; the machine's form, which is 128-bit
// integers itself, against addition of shifted summands, one bit of the multiplier at a time.
#include "arch/wide_multiply.h"

#include "arch/int128.h"
#include "test/support/catch.h"
#include "test/support/random.h"

namespace vvarclock::arch {
namespace {

using U128 = arch::Uint128;

struct Product {
  std::uint64_t high;
  std::uint64_t low;
};

Product add_shifted(std::uint64_t a, std::uint64_t b) {
  Product sum{0, 0};
  for (unsigned i = 0; i < 64; ++i) {
    if ((b >> i & 1) == 0) {
      continue;
    }
    const std::uint64_t low = a << i;
    const std::uint64_t high = i == 0 ? 0 : a >> (64 - i);
    sum.low += low;
    sum.high += high + (sum.low < low ? 1 : 0);
  }
  return sum;
}

void check(std::uint64_t a, std::uint64_t b) {
  const auto b32 = static_cast<std::uint32_t>(b);
  const auto high = static_cast<std::uint64_t>((static_cast<U128>(a) * b) >> 64);
  const auto middle = static_cast<std::uint64_t>((static_cast<U128>(a) * b32) >> 32);
  const Product full = add_shifted(a, b);
  const Product narrow = add_shifted(a, b32);
  const std::uint64_t narrow_middle = (narrow.high << 32) | (narrow.low >> 32);
  if (mul_64x64_high_pieces(a, b) != high || mul_64x64_high(a, b) != full.high ||
      mul_64x32_shift32_pieces(a, b32) != middle || mul_64x32_shift32(a, b32) != narrow_middle) {
    CAPTURE(a, b, b32);
    CHECK(mul_64x64_high_pieces(a, b) == high);
    CHECK(mul_64x64_high(a, b) == full.high);
    CHECK(mul_64x32_shift32_pieces(a, b32) == middle);
    REQUIRE(mul_64x32_shift32(a, b32) == narrow_middle);
  }
}

// (a * b + high:low) >> 60, modulo 2^64.
std::uint64_t shifted_sum(std::uint64_t a, std::uint64_t b, std::uint64_t low, std::uint64_t high) {
  const Product product = add_shifted(a, b);
  const std::uint64_t sum = product.low + low;
  return (product.high + high + (sum < low ? 1 : 0)) << 4 | sum >> 60;
}

void check_sum(std::uint64_t a, std::uint64_t b, std::uint64_t low, std::uint64_t high) {
  const std::uint64_t reference = shifted_sum(a, b, low, high);
  if (mul_add_shift60(a, b, low, high) != reference ||
      mul_add_shift60_pieces(a, b, low, high) != reference) {
    CAPTURE(a, b, low, high);
    CHECK(mul_add_shift60(a, b, low, high) == reference);
    REQUIRE(mul_add_shift60_pieces(a, b, low, high) == reference);
  }
}

TEST_CASE("a product and a sum of 128 bits agree with addition bit by bit", "[arch]") {
  for (const std::uint64_t a : test::kExtremes64) {
    for (const std::uint64_t b : test::kExtremes64) {
      for (const std::uint64_t sum : test::kExtremes64) {
        check_sum(a, b, sum, 0);
        check_sum(a, b, sum, ~std::uint64_t{0});
        check_sum(a, b, ~std::uint64_t{0}, sum);
      }
    }
  }
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    check_sum(random.u64(), random.u64(), random.u64(), random.u64());
    check_sum(random.edgy_u64(), random.edgy_u64(), random.edgy_u64(), random.edgy_u64());
  }
  // By hand: 3 ns and a half, and half a nanosecond, in 2^-60 ns.
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 59;
  STATIC_REQUIRE(mul_add_shift60(7, kHalf, kHalf, 0) == 4);
  STATIC_REQUIRE(mul_add_shift60_pieces(7, kHalf, kHalf - 1, 0) == 3);
  STATIC_REQUIRE(mul_add_shift60_pieces(0, 0, 0, 1) == 16);
}

TEST_CASE("wide multiplications agree with their references at the extremes", "[arch]") {
  for (const std::uint64_t a : test::kExtremes64) {
    for (const std::uint64_t b : test::kExtremes64) {
      check(a, b);
    }
  }
}

TEST_CASE("wide multiplications agree with their references on random numbers", "[arch]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    check(random.u64(), random.u64());
    check(random.edgy_u64(), random.edgy_u64());
  }
}

TEST_CASE("wide multiplications by hand", "[arch]") {
  // (2^64-1)^2 = 2^128 - 2^65 + 1; (2^64-1) * (2^32-1) = 2^96 - 2^64 - 2^32 + 1.
  STATIC_REQUIRE(mul_64x64_high(~std::uint64_t{0}, ~std::uint64_t{0}) == 0xfffffffffffffffeU);
  STATIC_REQUIRE(mul_64x64_high_pieces(~std::uint64_t{0}, ~std::uint64_t{0}) ==
                 0xfffffffffffffffeU);
  STATIC_REQUIRE(mul_64x32_shift32(~std::uint64_t{0}, 0xffffffffU) == 0xfffffffeffffffffU);
  STATIC_REQUIRE(mul_64x32_shift32_pieces(~std::uint64_t{0}, 0xffffffffU) == 0xfffffffeffffffffU);
  // A half is a half.
  STATIC_REQUIRE(mul_64x64_high(1000, std::uint64_t{1} << 63) == 500);
  STATIC_REQUIRE(mul_64x32_shift32(1000, 1U << 31) == 500);
}

}  // namespace
}  // namespace vvarclock::arch
