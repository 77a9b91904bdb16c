// What a vvar page looks like: one constexpr description per kernel generation, and the only place
// that knows offsets.
//
// Two things vary on their own: the clock block (where its fields lie: known at compile time, so
// that the hot path has constant offsets) and the order of the pages with the tail of the data
// (known at run time, in the binding).
//
// A description is a claim, never believed by itself: see core/discover/layout_probe.h.
// Depends on clock_id.h. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/vvar/clock_id.h"

namespace vvarclock::vvar {

// One clock block of the generic vDSO (5.3 and later): a header and basetime[12] of {u64 sec, u64
// nsec}. Two blocks follow each other: block 0 for every clock but RAW, block 1 for
// CLOCK_MONOTONIC_RAW. Byte offsets from the start of a block.
struct BlockLayout {
  std::uint16_t
      seq;  // u32; clock mode, s32, is in the next four bytes: both are read by one 8-byte load
  std::uint16_t cycle_last;  // u64
  std::uint16_t max_cycles;  // u64; 0 = the block has no such field
  std::uint16_t mask;        // u64
  std::uint16_t mult;        // u32
  std::uint16_t shift;       // u32
  std::uint16_t basetime;    // entry 0
  std::uint16_t stride;      // distance from block 0 to block 1

  [[nodiscard]] constexpr std::size_t sec(ClockId id) const noexcept {
    return basetime + std::size_t{16} * id;
  }
  [[nodiscard]] constexpr std::size_t nsec(ClockId id) const noexcept { return sec(id) + 8U; }
};

enum class BlockKind : std::uint8_t { kD, kDm, kV };

// include/vdso/datapage.h, struct vdso_data, 5.3 - 6.9 (x86); tz and hrtimer_res at its end.
inline constexpr BlockLayout kBlockD{0, 8, 0, 16, 24, 28, 32, 240};
// The same struct with max_cycles, 6.10 - 6.14 (x86).
inline constexpr BlockLayout kBlockDm{0, 8, 16, 24, 32, 36, 40, 248};
// struct vdso_clock, 6.15 and later (x86): tz and hrtimer_res have moved out of it.
inline constexpr BlockLayout kBlockV{0, 8, 16, 24, 32, 36, 40, 232};

constexpr const BlockLayout& block_layout(BlockKind kind) noexcept {
  switch (kind) {
    case BlockKind::kD:
      return kBlockD;
    case BlockKind::kDm:
      return kBlockDm;
    case BlockKind::kV:
      break;
  }
  return kBlockV;
}

// A page that this generation does not have.
inline constexpr std::int32_t kNoPage = 0;

struct Layout {
  const char* name;  // kernel releases that have it (x86), for the report
  BlockKind block;
  std::int32_t data;          // block 0, bytes from the start of the vDSO image
  std::int32_t timens;        // in a time namespace: the real block 0
  std::int32_t pvclock;       // the record of vCPU 0
  std::int32_t hvclock;       // the Hyper-V page
  std::uint16_t timezone;     // s32 minutes west, s32 dst type; bytes from block 0
  std::uint16_t hrtimer_res;  // u32 ns; bytes from block 0
  std::uint16_t size;         // bytes that a reader may touch, from block 0
  std::uint8_t highest_id;    // what the vDSO's code compares the clock id against
};

// Newest first. Sources: include/vdso/datapage.h, arch/x86/include/asm/vvar.h,
// arch/x86/entry/vdso/vdso-layout.lds.S and include/vdso/{clocksource,datapage}.h of the releases
// named.
inline constexpr std::array<Layout, 6> kLayouts{{
    {"6.17-7.3", BlockKind::kV, -0x6000, -0x5000, -0x2000, -0x1000, 2320, 2328, 2336, 23},
    {"6.15-6.16", BlockKind::kV, -0x6000, -0x5000, -0x2000, -0x1000, 464, 472, 480, 15},
    {"6.13-6.14", BlockKind::kDm, -0x4000, -0x3000, -0x2000, -0x1000, 232, 240, 496, 15},
    {"6.10-6.12", BlockKind::kDm, -0x4000 + 0x80, -0x1000 + 0x80, -0x3000, -0x2000, 232, 240, 496,
     15},
    {"5.6-6.9", BlockKind::kD, -0x4000 + 0x80, -0x1000 + 0x80, -0x3000, -0x2000, 224, 232, 480, 15},
    {"5.3-5.5", BlockKind::kD, -0x3000 + 0x80, kNoPage, -0x2000, -0x1000, 224, 232, 480, 15},
}};

}  // namespace vvarclock::vvar
