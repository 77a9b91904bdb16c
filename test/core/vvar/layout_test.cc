// Guards against: an offset that was mistyped, a description that contradicts itself.
//
// References: the structs of include/vdso/datapage.h and the page order of the x86 vDSO's linker
// script, written down here again as numbers, per release range, from the master table of layouts
// and not from layout.h.
#include "core/vvar/layout.h"

#include <string>
#include <vector>

#include "test/support/catch.h"

namespace vvarclock::vvar {
namespace {

struct Wanted {
  std::string name;
  // The block.
  int cycle_last, max_cycles, mask, mult, shift, realtime_sec, stride;
  int raw_sec, raw_nsec;  // from the data: block 1, index 4
  // Pages below the vDSO image, in pages; 0: the generation has none.
  int data_page, timens_page, pvclock_page, hvclock_page;
  int in_page;  // where the data starts within its page
  // The tail, from the data.
  int tz_minuteswest, hrtimer_res, size, highest_id;
};

const std::vector<Wanted> kWanted{
    {"6.17-7.3", 8, 16, 24, 32, 36, 40, 232, 336, 344, 6, 5, 2, 1, 0, 2320, 2328, 2336, 23},
    {"6.15-6.16", 8, 16, 24, 32, 36, 40, 232, 336, 344, 6, 5, 2, 1, 0, 464, 472, 480, 15},
    {"6.13-6.14", 8, 16, 24, 32, 36, 40, 248, 352, 360, 4, 3, 2, 1, 0, 232, 240, 496, 15},
    {"6.10-6.12", 8, 16, 24, 32, 36, 40, 248, 352, 360, 4, 1, 3, 2, 128, 232, 240, 496, 15},
    {"5.6-6.9", 8, 0, 16, 24, 28, 32, 240, 336, 344, 4, 1, 3, 2, 128, 224, 232, 480, 15},
    {"5.3-5.5", 8, 0, 16, 24, 28, 32, 240, 336, 344, 3, 0, 2, 1, 128, 224, 232, 480, 15},
};

// The generations before 5.3, whose blocks have no rule: each field on its own.
struct WantedOld {
  std::string name;
  int mode, cycle_last, mask, mult, shift;
  int realtime_sec, realtime_nsec, monotonic_sec, monotonic_nsec;
  int realtime_coarse, monotonic_coarse;  // seconds; nanoseconds follow
  int tai_sec, tai_nsec;                  // 0: not in the page
  int tz_minuteswest, size;
  std::int64_t data, pvclock, hvclock;
  Anchor anchor;
  int highest_id;
  bool hpet;
  int pvclock_mode, hvclock_mode;  // 0: no such mode
  Programs programs = Programs::kAll;
  bool narrow = false;  // seconds and coarse nanoseconds of 4 bytes
};

constexpr auto kI = Anchor::kImage;
constexpr auto kF = Anchor::kAbsolute;
constexpr auto k64 = Programs::k64;
constexpr auto k32 = Programs::k32;
// -0xa00f80 is 0xffffffffff5ff080.
const std::vector<WantedOld> kWantedOld{
    {"4.20-5.2", 4,   8,   16,  24,      28,      32,      40, 48, 56,    112, 128,
     208,        216, 224, 232, -0x2f80, -0x2000, -0x1000, kI, 15, false, 2,   3},
    {"4.12-4.19", 4, 8,  16,  24,      28,      40,      32, 48, 56,    64, 80,
     0,           0, 96, 104, -0x2f80, -0x2000, -0x1000, kI, 0,  false, 2,  3},
    {"4.7-4.11", 4, 8,  16,  24,      28,      40, 32, 48, 56,    64, 80,
     0,          0, 96, 104, -0x1f80, -0x1000, 0,  kI, 0,  false, 2,  3},
    {"4.5-4.6", 4, 8,  16,  24,      28,      40, 32, 48, 56,   64, 80,
     0,         0, 96, 104, -0x2f80, -0x1000, 0,  kI, 0,  true, 3,  0},
    {"3.17-4.4", 4, 8,  16,  24,      28, 40, 32, 48, 56,   64, 80,
     0,          0, 96, 104, -0x1f80, 0,  0,  kI, 0,  true, 3,  0},
    {"3.16", 4,    8, 16, 24, 28,  40,   32, 48, 56,
     64,     80,   0, 0,  96, 104, 0x80, 0,  0,  Anchor::kImageEnd,
     0,      true, 3, 0},
    {"3.15", 4,  8,   16,        24, 28, 40, 32, 48,   56, 64, 80, 0,
     0,      96, 104, -0xa00f80, 0,  0,  kF, 0,  true, 3,  0,  k64},
    {"3.10-3.14", 8,  16,  24,        32, 36, 40, 48, 64,   56, 80, 96, 0,
     0,           72, 112, -0xa00f80, 0,  0,  kF, 0,  true, 3,  0,  k64},
    {"3.10 (OpenVZ)", 8, 16, 24, 32, 36,   40, 48, 64, 56, 88, 104, 0, 0, 76, 120,
     -0xa00f80,       0, 0,  kF, 0,  true, 3,  0,  k64},
    {"4.12-4.19 (32-bit kernel)",
     4,
     8,
     16,
     24,
     28,
     40,
     32,
     44,
     48,
     56,
     64,
     0,
     0,
     72,
     80,
     -0x2f80,
     -0x2000,
     -0x1000,
     kI,
     0,
     false,
     2,
     3,
     k32,
     true},
    {"4.7-4.11 (32-bit kernel)",
     4,
     8,
     16,
     24,
     28,
     40,
     32,
     44,
     48,
     56,
     64,
     0,
     0,
     72,
     80,
     -0x1f80,
     -0x1000,
     0,
     kI,
     0,
     false,
     2,
     3,
     k32,
     true},
    {"4.5-4.6 (32-bit kernel)",
     4,
     8,
     16,
     24,
     28,
     40,
     32,
     44,
     48,
     56,
     64,
     0,
     0,
     72,
     80,
     -0x2f80,
     -0x1000,
     0,
     kI,
     0,
     true,
     3,
     0,
     k32,
     true},
    {"3.17-4.4 (32-bit kernel)",
     4,
     8,
     16,
     24,
     28,
     40,
     32,
     44,
     48,
     56,
     64,
     0,
     0,
     72,
     80,
     -0x1f80,
     0,
     0,
     kI,
     0,
     true,
     3,
     0,
     k32,
     true},
    {"3.16 (32-bit kernel)",
     4,
     8,
     16,
     24,
     28,
     40,
     32,
     44,
     48,
     56,
     64,
     0,
     0,
     72,
     80,
     0x80,
     0,
     0,
     Anchor::kImageEnd,
     0,
     true,
     3,
     0,
     k32,
     true},
    {"3.15 (32-bit kernel)",
     4,
     8,
     16,
     24,
     28,
     40,
     32,
     44,
     48,
     56,
     64,
     0,
     0,
     72,
     80,
     -0xf80,
     0,
     0,
     kI,
     0,
     true,
     3,
     0,
     k32,
     true},
    {"3.15 (32-bit program)",
     4,
     8,
     16,
     24,
     28,
     40,
     32,
     48,
     56,
     64,
     80,
     0,
     0,
     96,
     104,
     -0xf80,
     0,
     0,
     kI,
     0,
     true,
     3,
     0,
     k32},
};

TEST_CASE("every layout before 5.3 has the offsets of its releases", "[vvar]") {
  REQUIRE(kLayouts.size() == kWanted.size() + kWantedOld.size());
  for (std::size_t i = 0; i < kWantedOld.size(); ++i) {
    const Layout& layout = kLayouts[kWanted.size() + i];
    const WantedOld& want = kWantedOld[i];
    const BlockLayout& block = block_layout(layout.block);
    const auto slot = [&](ClockId id, int sec, int nsec) {
      CAPTURE(id);
      CHECK(block.sec(id) == static_cast<std::size_t>(sec));
      CHECK(block.nsec(id) == static_cast<std::size_t>(nsec));
    };
    CAPTURE(layout.name);
    CHECK(layout.name == want.name);
    CHECK(block.seq == 0);
    CHECK(block.mode == want.mode);
    CHECK(block.cycle_last == want.cycle_last);
    CHECK(block.max_cycles == 0);
    CHECK(block.mask == want.mask);
    CHECK(block.mult == want.mult);
    CHECK(block.shift == want.shift);
    CHECK(block.stride == 0);
    CHECK(block.modes.pvclock == want.pvclock_mode);
    CHECK(block.modes.hvclock == (want.hvclock_mode == 0 ? arch::kNoMode : want.hvclock_mode));
    slot(0, want.realtime_sec, want.realtime_nsec);
    slot(1, want.monotonic_sec, want.monotonic_nsec);
    const int word = want.narrow ? 4 : 8;
    slot(5, want.realtime_coarse, want.realtime_coarse + word);
    slot(6, want.monotonic_coarse, want.monotonic_coarse + word);
    CHECK(block.narrow == want.narrow);
    CHECK(layout.programs == want.programs);
    slot(11, want.tai_sec, want.tai_nsec);
    for (const ClockId id : {2U, 3U, 4U, 7U, 8U, 9U, 10U}) {
      slot(id, 0, 0);
    }
    CHECK(block.ids == (want.tai_sec == 0 ? 0x63U : 0x863U));
    CHECK(layout.anchor == want.anchor);
    CHECK(layout.data == want.data);
    CHECK(layout.timens == 0);
    CHECK(layout.pvclock == want.pvclock);
    CHECK(layout.hvclock == want.hvclock);
    CHECK(layout.timezone == want.tz_minuteswest);
    CHECK(layout.hrtimer_res == 0);
    CHECK(layout.size == want.size);
    CHECK(layout.highest_id == want.highest_id);
    CHECK(layout.hpet == want.hpet);
  }
}

TEST_CASE("every layout has the offsets of its releases", "[vvar]") {
  for (std::size_t i = 0; i < kWanted.size(); ++i) {
    const Layout& layout = kLayouts[i];
    const Wanted& want = kWanted[i];
    const BlockLayout& block = block_layout(layout.block);
    CAPTURE(layout.name);
    CHECK(layout.name == want.name);
    CHECK(block.seq == 0);
    CHECK(block.cycle_last == want.cycle_last);
    CHECK(block.max_cycles == want.max_cycles);
    CHECK(block.mask == want.mask);
    CHECK(block.mult == want.mult);
    CHECK(block.shift == want.shift);
    CHECK(static_cast<int>(block.sec(0)) == want.realtime_sec);
    CHECK(block.stride == want.stride);
    CHECK(static_cast<int>(block.stride + block.sec(4)) == want.raw_sec);
    CHECK(static_cast<int>(block.stride + block.nsec(4)) == want.raw_nsec);
    CHECK(static_cast<int>(block.nsec(11)) == want.realtime_sec + 11 * 16 + 8);
    CHECK(layout.data == -4096 * want.data_page + want.in_page);
    CHECK(layout.timens ==
          (want.timens_page == 0 ? kNoPage : -4096 * want.timens_page + want.in_page));
    CHECK(layout.pvclock == -4096 * want.pvclock_page);
    CHECK(layout.hvclock == -4096 * want.hvclock_page);
    CHECK(layout.timezone == want.tz_minuteswest);
    CHECK(layout.hrtimer_res == want.hrtimer_res);
    CHECK(layout.size == want.size);
    CHECK(layout.highest_id == want.highest_id);
    CHECK(layout.anchor == Anchor::kImage);
    CHECK_FALSE(layout.hpet);
    CHECK(block.mode == 4);
    CHECK(block.ids == 0x8f3U);
    CHECK_FALSE(block.narrow);
    CHECK(layout.programs == Programs::kAll);
    CHECK(block.modes.pvclock == 2);
    CHECK(block.modes.hvclock == 3);
  }
}

TEST_CASE("a row is for the programs that it names", "[vvar]") {
  Layout row = kLayouts[0];
  const auto is_for = [&](Programs programs, arch::CodeWidth width) {
    row.programs = programs;
    return row.is_for(width);
  };
  CHECK(is_for(Programs::kAll, arch::CodeWidth::k32));
  CHECK(is_for(Programs::kAll, arch::CodeWidth::k64));
  CHECK(is_for(Programs::k32, arch::CodeWidth::k32));
  CHECK_FALSE(is_for(Programs::k32, arch::CodeWidth::k64));
  CHECK_FALSE(is_for(Programs::k64, arch::CodeWidth::k32));
  CHECK(is_for(Programs::k64, arch::CodeWidth::k64));
}

TEST_CASE("every kind of block is known by its name, also among those of one width", "[vvar]") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    const auto block_of = []<const BlockLayout & B>() { return &B; };
    CHECK(with_block(layout.block, block_of) == &block_layout(layout.block));
    if (layout.is_for(arch::kOwnWidth)) {
      CHECK(with_own_block(layout.block, block_of) == with_block(layout.block, block_of));
    }
  }
}

TEST_CASE("every field lies within its block, aligned and apart from the others", "[vvar]") {
  for (const Layout& layout : kLayouts) {
    const BlockLayout& block = block_layout(layout.block);
    CAPTURE(layout.name);
    const std::size_t length = block.has_raw_block() ? block.stride : layout.size;
    std::vector<char> used(length, 0);
    const auto take = [&](std::size_t offset, std::size_t width) {
      CAPTURE(offset, width);
      CHECK(offset % width == 0);
      REQUIRE(offset + width <= length);
      for (std::size_t i = offset; i < offset + width; ++i) {
        CHECK(used[i] == 0);
        used[i] = 1;
      }
    };
    CHECK(block.mode_follows_seq() == (block.mode == 4));
    take(block.seq, 4);
    take(block.mode, 4);
    take(block.cycle_last, 8);
    if (block.max_cycles != 0) {
      take(block.max_cycles, 8);
    }
    take(block.mask, 8);
    take(block.mult, 4);
    take(block.shift, 4);
    for (ClockId id = 0; id < kBasetimeSlots; ++id) {
      if (block.is_generic() || is_in(id, block.ids)) {
        take(block.sec(id), block.narrow ? 4 : 8);
        take(block.nsec(id), block.narrow && is_in(id, kCoarseIds) ? 4 : 8);
      }
    }
    if (!block.has_raw_block()) {
      take(layout.timezone, 4);
      take(layout.timezone + 4U, 4);
    }
  }
}

TEST_CASE("block 1 and the tail lie within the size, and the size within a page", "[vvar]") {
  for (const Layout& layout : kLayouts) {
    const BlockLayout& block = block_layout(layout.block);
    CAPTURE(layout.name);
    CHECK(block.stride % 8 == 0);
    CHECK(layout.data % 8 == 0);
    CHECK(2 * block.stride <= layout.size);
    CHECK(layout.timezone % 4 == 0);
    if (block.is_generic()) {
      CHECK(layout.hrtimer_res % 4 == 0);
      CHECK(layout.timezone + 8 <= layout.hrtimer_res);
      CHECK(layout.hrtimer_res + 4 <= layout.size);
      CHECK(layout.timezone >= static_cast<int>(block.nsec(kBasetimeSlots - 1)) + 8);
    }
    CHECK((layout.data & 4095) + layout.size <= 4096);
  }
}

TEST_CASE("no two pages of a layout are one, and all lie before the image", "[vvar]") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    std::vector<int> pages;
    for (const std::int32_t offset : {layout.data, layout.timens, layout.pvclock, layout.hvclock}) {
      if (offset == kNoPage) {
        continue;
      }
      CAPTURE(offset);
      CHECK((offset < 0 || layout.anchor == Anchor::kImageEnd));
      for (const int page : pages) {
        CHECK(page != offset >> 12);
      }
      pages.push_back(offset >> 12);
    }
  }
}

}  // namespace
}  // namespace vvarclock::vvar
