// Guards against: an offset that was mistyped, in the generations before 5.3, whose blocks have no
// rule.
//
// References: struct vsyscall_gtod_data of the releases named, written down here again as numbers.
// layout_test.cc has the newer generations, and what holds for all.
#include <cstdint>
#include <string>
#include <vector>

#include "core/vvar/layout.h"
#include "test/support/catch.h"

namespace vvarclock::vvar {
namespace {

constexpr std::size_t kNewer = 6;  // rows of the generations since 5.3, which come first

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

// Of a 32-bit kernel.
WantedOld narrow(const char* name, std::int64_t data, std::int64_t pvclock, std::int64_t hvclock,
                 Anchor anchor, bool hpet, int pvclock_mode, int hvclock_mode) {
  return {name, 4,   8,  16, 24,   28,      40,      32,     44, 48,   56,           64,
          0,    0,   72, 80, data, pvclock, hvclock, anchor, 0,  hpet, pvclock_mode, hvclock_mode,
          k32,  true};
}

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
    narrow("4.12-4.19 i386", -0x2f80, -0x2000, -0x1000, kI, false, 2, 3),
    narrow("4.7-4.11 i386", -0x1f80, -0x1000, 0, kI, false, 2, 3),
    narrow("4.5-4.6 i386", -0x2f80, -0x1000, 0, kI, true, 3, 0),
    narrow("3.17-4.4 i386", -0x1f80, 0, 0, kI, true, 3, 0),
    narrow("3.16 i386", 0x80, 0, 0, Anchor::kImageEnd, true, 3, 0),
    narrow("3.15 i386", -0xf80, 0, 0, kI, true, 3, 0),
    {"3.15 compat", 4,      8, 16, 24, 28, 40,   32, 48, 56, 64, 80, 0, 0, 96,
     104,           -0xf80, 0, 0,  kI, 0,  true, 3,  0,  k32},
};

TEST_CASE("every layout before 5.3 has the offsets of its releases", "[vvar]") {
  REQUIRE(kLayouts.size() == kNewer + kWantedOld.size());
  for (std::size_t i = 0; i < kWantedOld.size(); ++i) {
    const Layout& layout = kLayouts[kNewer + i];
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

}  // namespace
}  // namespace vvarclock::vvar
