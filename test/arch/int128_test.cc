// Guards against: a carry, a sign or a rounding lost in the 128-bit integers of 32-bit machines.
//
// Reference: the compiler's own 128-bit integers, which only 64-bit machines have; so this test is
// for those.
#include "arch/int128.h"

#include "test/support/catch.h"
#include "test/support/random.h"

namespace vvarclock::arch {
namespace {

__extension__ using U128 = unsigned __int128;
__extension__ using S128 = __int128;

template <class Native, class Words>
Words words(Native value) {
  return (Words(static_cast<std::uint64_t>(value >> 64)) << 64) +
         Words(static_cast<std::uint64_t>(value));
}

template <class Native, class Words>
bool same(Native native, const Words& value) {
  return static_cast<std::uint64_t>(native) == static_cast<std::uint64_t>(value) &&
         static_cast<std::uint64_t>(native >> 64) == static_cast<std::uint64_t>(value >> 64);
}

// The products and sums of signed numbers wrap here, as they do in words: computed without sign.
template <class Native, class Words>
void check(Native a, Native b) {
  const auto x = words<Native, Words>(a);
  const auto y = words<Native, Words>(b);
  const auto wrapped = [](U128 value) { return static_cast<Native>(value); };
  const auto ua = static_cast<U128>(a);
  const auto ub = static_cast<U128>(b);
  CAPTURE(static_cast<std::uint64_t>(ua >> 64), static_cast<std::uint64_t>(ua));
  CAPTURE(static_cast<std::uint64_t>(ub >> 64), static_cast<std::uint64_t>(ub));
  bool right = same(a, x) && same(wrapped(ua + ub), x + y) && same(wrapped(ua - ub), x - y) &&
               same(wrapped(ua * ub), x * y) && same(wrapped(-ua), -x) && (a < b) == (x < y) &&
               (a == b) == (x == y) && (a <= b) == (x <= y);
  for (unsigned bits = 0; bits < 128; ++bits) {
    right = right && same(a >> bits, x >> bits) && same(wrapped(ua << bits), x << bits);
  }
  const bool overflows =
      static_cast<Native>(-1) < 0 && a < 0 && a == wrapped(-ua) && b == wrapped(~U128{0});
  if (b != 0 && !overflows) {
    right =
        right && same(static_cast<Native>(a / b), x / y) && same(static_cast<Native>(a % b), x % y);
  }
  if (!right) {
    FAIL("a result differs from the compiler's own integers");
  }
}

U128 number(test::Random& random) {
  const U128 wide = static_cast<U128>(random.edgy_u64()) << 64 | random.edgy_u64();
  return wide >> random.below(128);
}

TEST_CASE("integers of 128 bits in words are the compiler's own", "[arch]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 20'000; ++i) {
    const U128 a = number(random);
    const U128 b = number(random);
    check<U128, Words128<false>>(a, b);
    check<S128, Words128<true>>(static_cast<S128>(a), static_cast<S128>(b));
    check<S128, Words128<true>>(-static_cast<S128>(a), static_cast<S128>(b));
  }
  for (const std::uint64_t a : test::kExtremes64) {
    for (const std::uint64_t b : test::kExtremes64) {
      check<U128, Words128<false>>(static_cast<U128>(a) << 64 | b, static_cast<U128>(b) << 64 | a);
      check<S128, Words128<true>>(static_cast<S128>(static_cast<U128>(a) << 64 | b),
                                  static_cast<S128>(static_cast<U128>(b) << 64 | a));
    }
  }
}

TEST_CASE("integers of any kind become 128 bits with their sign, and change it", "[arch]") {
  CHECK(same(static_cast<S128>(-5), Words128<true>(-5)));
  CHECK(same(static_cast<S128>(~std::uint64_t{0}), Words128<true>(~std::uint64_t{0})));
  CHECK(same(static_cast<U128>(7), Words128<false>(7U)));
  CHECK(same(static_cast<U128>(static_cast<S128>(-5)), Words128<false>(Words128<true>(-5))));
  CHECK(static_cast<std::int64_t>(Words128<true>(-5)) == -5);
}

}  // namespace
}  // namespace vvarclock::arch
