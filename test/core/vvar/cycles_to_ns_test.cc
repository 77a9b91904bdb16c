// Guards against: an overflow in the narrow form, a lost carry in the wide one, a negative delta
// that becomes centuries, nanoseconds that are a whole second.
//
// References: 128-bit integers and the kernel's rule ns = (base + delta * mult) >> shift
// (lib/vdso/gettimeofday.c), where a negative delta counts as 0.
#include "core/vvar/cycles_to_ns.h"

#include "arch/int128.h"
#include "test/support/catch.h"
#include "test/support/random.h"

namespace vvarclock::vvar {
namespace {

using U128 = arch::Uint128;
using S128 = arch::Int128;

constexpr U128 kOver64 = static_cast<U128>(1) << 64;

U128 exact(std::uint64_t delta, std::uint32_t mult, std::uint64_t base) {
  return static_cast<U128>(delta) * mult + base;
}

// What a page may hold as nanoseconds of a clock: less than a second, and a second more for what
// the kernel carries late.
std::uint64_t base_limit(std::uint32_t shift) { return std::uint64_t{2 * kNsPerSec} << shift; }

void check_narrow(std::uint64_t whole, std::uint32_t mult, std::uint32_t shift,
                  std::uint64_t base) {
  const auto delta = static_cast<std::uint32_t>(whole);
  REQUIRE(delta == whole);
  const U128 sum = exact(delta, mult, base);
  const auto want = static_cast<std::uint64_t>(sum >> shift);
  if (sum >= kOver64 || narrow_ns(delta, mult, shift, base) != want ||
      wide_ns(delta, mult, shift, base) != want) {
    CAPTURE(delta, mult, shift, base);
    CHECK(sum < kOver64);
    CHECK(narrow_ns(delta, mult, shift, base) == want);
    REQUIRE(wide_ns(delta, mult, shift, base) == want);
  }
}

void check_wide(std::uint64_t delta, std::uint32_t mult, std::uint32_t shift, std::uint64_t base) {
  const bool negative = (delta >> 63) != 0;
  const auto want = static_cast<std::uint64_t>(exact(negative ? 0 : delta, mult, base) >> shift);
  if (wide_ns(delta, mult, shift, base) != want) {
    CAPTURE(delta, mult, shift, base);
    REQUIRE(wide_ns(delta, mult, shift, base) == want);
  }
}

TEST_CASE("a delta is narrow below 2^31, so neither negative nor large ones are", "[vvar]") {
  CHECK(is_narrow(0));
  CHECK(is_narrow(0x7fffffff));
  CHECK_FALSE(is_narrow(0x80000000));
  CHECK_FALSE(is_narrow(std::uint64_t{1} << 62));
  CHECK_FALSE(is_narrow(std::uint64_t{1} << 63));
  CHECK_FALSE(is_narrow(~std::uint64_t{0}));
}

TEST_CASE("the narrow form cannot overflow for any mult, any shift of the kernel and any base",
          "[vvar]") {
  for (std::uint32_t shift = 0; shift <= 32; ++shift) {
    for (const std::uint32_t mult : test::kExtremes32) {
      for (const std::uint64_t delta : {0ULL, 1ULL, 0x7ffffffeULL, 0x7fffffffULL}) {
        for (const std::uint64_t base :
             {std::uint64_t{0}, std::uint64_t{1}, base_limit(shift) / 2, base_limit(shift) - 1}) {
          REQUIRE(is_narrow(delta));
          check_narrow(delta, mult, shift, base);
        }
      }
    }
  }
}

TEST_CASE("the narrow form agrees with 128-bit integers on random numbers", "[vvar]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 200'000; ++i) {
    const auto shift = static_cast<std::uint32_t>(random.below(33));
    check_narrow(random.edgy_u64() & 0x7fffffff, random.edgy_u32(), shift,
                 random.edgy_u64() % base_limit(shift));
  }
}

TEST_CASE("the wide form is exact to 96 bits and takes negative deltas as 0", "[vvar]") {
  for (std::uint32_t shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t delta : test::kExtremes64) {
      for (const std::uint32_t mult : test::kExtremes32) {
        for (const std::uint64_t base : test::kExtremes64) {
          check_wide(delta, mult, shift, base);
        }
      }
    }
  }
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 200'000; ++i) {
    check_wide(random.edgy_u64(), random.edgy_u32(), static_cast<std::uint32_t>(random.below(64)),
               random.edgy_u64());
  }
}

TEST_CASE("negative deltas by hand", "[vvar]") {
  const auto minus_one = ~std::uint64_t{0};
  CHECK(wide_ns(minus_one, 1U << 23, 24, std::uint64_t{500} << 24) == 500);
  CHECK(wide_ns(std::uint64_t{1} << 63, 1U << 23, 24, std::uint64_t{500} << 24) == 500);
  CHECK(wide_ns(2, 1U << 23, 24, std::uint64_t{500} << 24) == 501);
}

TEST_CASE("a virtual machine that was paused for a year is exact", "[vvar]") {
  // 3 GHz, mult and shift as the kernel computes them: 5592405 / 2^24 ns per cycle.
  const std::uint64_t delta = 3'000'000'000ULL * 86400 * 365;
  CHECK(exact(delta, 5592405, 0) >= kOver64);
  check_wide(delta, 5592405, 24, 999'999'999ULL << 24);
}

TEST_CASE("carry moves whole seconds and nothing else", "[vvar]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t sec = random.edgy_u64();
    const std::uint64_t nsec = random.edgy_u64();
    const SecNsec time = carry(sec, nsec);
    const U128 want = static_cast<U128>(sec) * kNsPerSec + nsec;
    const U128 got = static_cast<U128>(time.sec) * kNsPerSec + time.nsec;
    const U128 wrapped = static_cast<U128>(kNsPerSec) << 64;  // seconds count modulo 2^64
    if (time.nsec >= kNsPerSec || got != want % wrapped) {
      CAPTURE(sec, nsec, time.sec, time.nsec);
      REQUIRE(time.nsec < kNsPerSec);
      REQUIRE((got == want % wrapped));
    }
  }
}

TEST_CASE("whole seconds by the reciprocal are those of a division", "[vvar]") {
  const auto check_around = [](std::uint64_t ns) {
    for (const std::uint64_t near : {ns - 1, ns, ns + 1}) {
      CAPTURE(near);
      REQUIRE(whole_seconds_by_reciprocal(near) == near / kNsPerSec);
    }
  };
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    check_around(random.edgy_u64());
    check_around(random.below(~std::uint64_t{0} / kNsPerSec) * kNsPerSec);
  }
  check_around(1);
  check_around(kNsPerSec);
  check_around(~std::uint64_t{0} / kNsPerSec * kNsPerSec);
  check_around(~std::uint64_t{0} - 1);
}

TEST_CASE("carrying one second is carrying, or says that there is more", "[vvar]") {
  for (const std::uint64_t sec :
       {std::uint64_t{0}, std::uint64_t{1'764'000'000}, ~std::uint64_t{0}}) {
    for (const std::uint64_t nsec :
         {0ULL, 1ULL, 999'999'999ULL, 1'000'000'000ULL, 1'000'000'001ULL, 1'999'999'999ULL}) {
      CAPTURE(sec, nsec);
      SecNsec time{sec, nsec};
      const SecNsec want = carry(sec, nsec);
      CHECK(carry_one(time));
      CHECK(time.sec == want.sec);
      CHECK(time.nsec == want.nsec);
    }
    for (const std::uint64_t nsec :
         {2'000'000'000ULL, 2'000'000'001ULL, 214'000'000'000ULL, ~0ULL}) {
      CAPTURE(sec, nsec);
      SecNsec time{sec, nsec};
      CHECK_FALSE(carry_one(time));
    }
  }
}

TEST_CASE("an offset of either sign is added as signed 128-bit nanoseconds", "[vvar]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t sec = static_cast<std::int64_t>(random.edgy_u64() >> 2);
    const auto nsec = static_cast<std::int64_t>(random.below(kNsPerSec));
    // The kernel lets a namespace's clock be neither negative nor beyond KTIME_SEC_MAX / 2: here,
    // within 2^62.
    const std::int64_t offset_sec =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(sec) * 2 + 1)) - sec;
    const auto offset_nsec = static_cast<std::int64_t>(random.below(kNsPerSec));
    const SecNsec time =
        add_offset({static_cast<std::uint64_t>(sec), static_cast<std::uint64_t>(nsec)},
                   static_cast<std::uint64_t>(offset_sec), static_cast<std::uint64_t>(offset_nsec));
    const S128 want = (static_cast<S128>(sec) + offset_sec) * kNsPerSec + nsec + offset_nsec;
    const S128 got = static_cast<S128>(static_cast<std::int64_t>(time.sec)) * kNsPerSec +
                     static_cast<S128>(time.nsec);
    if (time.nsec >= kNsPerSec || got != want) {
      CAPTURE(sec, nsec, offset_sec, offset_nsec, time.sec, time.nsec);
      REQUIRE(time.nsec < kNsPerSec);
      REQUIRE((got == want));
    }
  }
}

TEST_CASE("offsets by hand", "[vvar]") {
  // -1.5 s is -2 s and 500'000'000 ns.
  const SecNsec back =
      add_offset({100, 700'000'000}, static_cast<std::uint64_t>(std::int64_t{-2}), 500'000'000);
  CHECK(back.sec == 99);
  CHECK(back.nsec == 200'000'000);
}

}  // namespace
}  // namespace vvarclock::vvar
