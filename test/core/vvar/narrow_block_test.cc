// Guards against: a field of a 32-bit kernel's block read with its neighbour, and REALTIME's
// seconds taken for negative from 2038 on.
//
// Reference: struct vsyscall_gtod_data of 3.15 - 4.19 where a long has 4 bytes; the offsets below
// are from the master table of layouts.
#include "core/vvar/read_clock.h"
#include "test/core/vvar/pages.h"
#include "test/support/catch.h"
#include "test/support/sim_counter.h"

namespace vvarclock::vvar {
namespace {

struct KindB32 {
  static constexpr const BlockLayout& kBlock = kBlockB32;
};

constexpr std::uint64_t kLate = 0x90000000;  // seconds: the year 2046

// A page at rest in mode tsc, a cycle being a nanosecond, all fields but the clocks' at their usual
// places. Every clock's neighbours have their lowest and highest bits set.
void write(const test::PageWriter& page) {
  page.put<std::uint32_t>(0, 8);
  page.put<std::int32_t>(4, 1);
  page.put<std::uint64_t>(8, 1000);
  page.put<std::uint64_t>(16, ~std::uint64_t{0});
  page.put<std::uint32_t>(24, 1U << 23);
  page.put<std::uint32_t>(28, 23);
  page.put<std::uint64_t>(32, std::uint64_t{999'999'000} << 23);  // REALTIME, shifted ns
  page.put<std::uint32_t>(40, static_cast<std::uint32_t>(kLate));
  page.put<std::uint32_t>(44, 0x80000001);  // MONOTONIC
  page.put<std::uint64_t>(48, std::uint64_t{123'456'789} << 23);
  page.put<std::uint32_t>(56, 0x80000005);  // REALTIME_COARSE
  page.put<std::uint32_t>(60, 999'999'999);
  page.put<std::uint32_t>(64, 0x80000007);  // MONOTONIC_COARSE
  page.put<std::uint32_t>(68, 1);
  page.put<std::int32_t>(72, -1);  // the time zone
  page.put<std::int32_t>(76, -1);
}

TEST_CASE("each clock of a 32-bit kernel's block is read by itself", "[vvar]") {
  test::Page<KindB32> page;
  write(page.write);
  const auto read = [&](ClockId id) {
    SecNsec full = test::kUntouched;
    SecNsec hot = test::kUntouched;
    test::SimCounter::now = 1005;
    REQUIRE(read_clock<kBlockB32, test::SimCounter>(page.binding(), id, full));
    REQUIRE(read_clock_once<kBlockB32, test::SimCounter>(page.data(), {}, id, hot) ==
            Attempt::kDone);
    CHECK(hot == full);
    return full;
  };
  CHECK(read(kRealtime) == SecNsec{kLate, 999'999'005});
  CHECK(read(kMonotonic) == SecNsec{0x80000001, 123'456'794});
  CHECK(read(kRealtimeCoarse) == SecNsec{0x80000005, 999'999'999});
  CHECK(read(kMonotonicCoarse) == SecNsec{0x80000007, 1});
  std::uint64_t sec = 0;
  REQUIRE(read_time<kBlockB32>(page.binding(), sec));
  CHECK(sec == kLate);
}

}  // namespace
}  // namespace vvarclock::vvar
