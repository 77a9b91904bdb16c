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

TEST_CASE("every layout since 5.3 has the offsets of its releases", "[vvar]") {
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
