// The simulated kernel, generation by generation, against numbers from the kernels' sources:
// places, mode numbers, rounding, what is refreshed.
#include <array>
#include <cstdint>
#include <string>

#include "arch/load.h"
#include "test/support/catch.h"
#include "test/support/fake_answer.h"
#include "test/support/fake_kernel.h"

namespace vvarclock::test {
namespace {

using arch::load;

}  // namespace

TEST_CASE("the bytes are where each generation has them", "[fake_kernel]") {
  struct Place {
    std::size_t mode;
    std::size_t cycle_last;
    std::size_t coarse_monotonic_sec;
    std::size_t raw_sec;  // 0: none
    std::size_t minutes_west;
    std::size_t resolution;  // 0: none
    std::int32_t data;       // from the image; what is not before it: see below
    bool narrow = false;     // seconds of 4 bytes
  };
  constexpr std::array<Place, 22> kPlaces{{{4, 8, 136, 336, 2320, 2328, -0x6000},
                                           {4, 8, 136, 336, 464, 472, -0x6000},
                                           {4, 8, 136, 352, 232, 240, -0x4000},
                                           {4, 8, 136, 352, 232, 240, -0x3f80},
                                           {4, 8, 128, 336, 224, 232, -0x3f80},
                                           {4, 8, 128, 336, 224, 232, -0x2f80},
                                           {4, 8, 128, 0, 224, 0, -0x2f80},
                                           {4, 8, 80, 0, 96, 0, -0x2f80},
                                           {4, 8, 80, 0, 96, 0, -0x1f80},
                                           {4, 8, 80, 0, 96, 0, -0x2f80},
                                           {4, 8, 80, 0, 96, 0, -0x1f80},
                                           {4, 8, 80, 0, 96, 0, 0x1080},
                                           {4, 8, 80, 0, 96, 0, 0},
                                           {8, 16, 96, 0, 72, 0, 0},
                                           {8, 16, 104, 0, 76, 0, 0},
                                           {4, 8, 64, 0, 72, 0, -0x2f80, true},
                                           {4, 8, 64, 0, 72, 0, -0x1f80, true},
                                           {4, 8, 64, 0, 72, 0, -0x2f80, true},
                                           {4, 8, 64, 0, 72, 0, -0x1f80, true},
                                           {4, 8, 64, 0, 72, 0, 0x1080, true},
                                           {4, 8, 64, 0, 72, 0, -0xf80, true},
                                           {4, 8, 80, 0, 96, 0, -0xf80}}};
  static_assert(kPlaces.size() == vvar::kLayouts.size(),
                "a new row needs its places here, from its own source");
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    CAPTURE(vvar::kLayouts[i].name);
    FakeKernel kernel(vvar::kLayouts[i], one_gigahertz());
    kernel.set_timezone(-60, 1);
    const Place& place = kPlaces[i];
    // No offset from the image: the fixed address of kernels until 3.15.
    const std::byte* const data = place.data != 0
                                      ? kernel.image() + place.data
                                      : kernel.table().fixed_mapping(0xffffffffff5ff080);
    CHECK(load<std::uint32_t>(data, place.mode) == 1);
    CHECK(load<std::uint64_t>(data, place.cycle_last) == FakeSetup{}.start);
    CHECK((place.narrow ? load<std::uint32_t>(data, place.coarse_monotonic_sec)
                        : load<std::uint64_t>(data, place.coarse_monotonic_sec)) == 1001);
    CHECK((place.raw_sec == 0 || load<std::uint64_t>(data, place.raw_sec) == 1000));
    CHECK(load<std::int32_t>(data, place.minutes_west) == -60);
    CHECK(load<std::int32_t>(data, place.minutes_west + 4) == 1);
    CHECK((place.resolution == 0 || load<std::uint32_t>(data, place.resolution) == 1));
  }
}

TEST_CASE("each generation has its own numbers for the clock modes", "[fake_kernel]") {
  struct Numbers {
    std::int32_t none;
    std::int32_t pvclock;
    std::int32_t hvclock;  // 0: not known
  };
  for (const vvar::Layout& layout : vvar::kLayouts) {
    CAPTURE(layout.name);
    const std::string name = layout.name;
    const bool until46 = name.substr(0, 7) == "4.5-4.6" || name.substr(0, 2) == "3.";
    const Numbers want = until46                           ? Numbers{2, 3, 0}
                         : name.substr(0, 8) == "4.7-4.11" ? Numbers{0, 2, 0}
                                                           : Numbers{0, 2, 3};
    FakeKernel kernel(layout, one_gigahertz());
    const auto in_page = [&] {
      const std::size_t at = name.substr(0, 4) == "3.10" ? 8 : 4;
      return load<std::int32_t>(kernel.at(layout.data), at);
    };
    CHECK(in_page() == 1);
    kernel.use_source(arch::kModeNone);
    CHECK(in_page() == want.none);
    kernel.use_source(arch::kModePvclock);
    CHECK(in_page() == want.pvclock);
    CHECK(has_mode(layout, arch::kModeHvclock) == (want.hvclock != 0));
    if (want.hvclock != 0) {
      kernel.use_source(arch::kModeHvclock);
      CHECK(in_page() == want.hvclock);
    }
  }
}

TEST_CASE("before 4.12 the raw clock loses the parts of a nanosecond at each tick",
          "[fake_kernel]") {
  const auto raw_after_ten_ticks = [](const vvar::Layout& layout) {
    FakeKernel kernel(layout, {.tsc_hz = 2'600'000'000});
    for (int i = 0; i < 10; ++i) {
      kernel.advance_ns(4'000'000);
      kernel.tick();
    }
    return ask(kernel, vvar::kMonotonicRaw);
  };
  // 10'400'000 cycles * 6'452'775 >> 24 = 3'999'999.76: ten of them, rounded each or at the end.
  CHECK(raw_after_ten_ticks(vvar::kLayouts[7]) == Time{1000, 47'654'318});
  CHECK(raw_after_ten_ticks(vvar::kLayouts[8]) == Time{1000, 47'654'311});
  CHECK(raw_after_ten_ticks(vvar::kLayouts.back()) == Time{1000, 47'654'311});
}

TEST_CASE("mode none leaves the counting fields stale from 5.7 on", "[fake_kernel]") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    CAPTURE(layout.name);
    FakeKernel kernel(layout, {.mode = arch::kModeNone});
    const vvar::BlockLayout& block = vvar::block_layout(layout.block);
    const std::byte* const data = kernel.at(layout.data);
    const auto cycle_last = load<std::uint64_t>(data, block.cycle_last);
    const auto coarse = load<std::uint32_t>(data, block.nsec(vvar::kRealtimeCoarse));
    kernel.advance_ns(8'000'000);
    kernel.tick();
    const bool fresh = load<std::uint64_t>(data, block.cycle_last) != cycle_last;
    CHECK(fresh == (layout.timens == vvar::kNoPage));
    CHECK(load<std::uint32_t>(data, block.nsec(vvar::kRealtimeCoarse)) != coarse);
  }
}

}  // namespace vvarclock::test
