// What a vvar page looks like: one constexpr description per kernel generation,
// and the only place that knows offsets.
//
// Two things vary on their own: the clock block (where its fields lie: known at
// compile time, so that the hot path has constant offsets) and the order of the
// pages with the tail of the data (known at run time, in the binding).
//
// A description is a claim, never believed by itself: see
// core/discover/layout_probe.h. Depends on clock_id.h and the mode numbers.
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arch/x86/clock_mode.h"
#include "arch/x86/code_width.h"
#include "core/vvar/clock_id.h"

namespace vvarclock::vvar {

// Where the base of one clock is, in bytes from the start of its block. Both
// zero: not in the block.
struct Slot {
  std::uint16_t sec = 0;   // u64; u32 in a narrow block
  std::uint16_t nsec = 0;  // u64; shifted nanoseconds, or nanoseconds for a coarse clock: then u32
                           // in a narrow block
};
using Slots = std::array<Slot, kBasetimeSlots>;

// One clock block, in bytes from its start. The generic vDSO (5.3 and later)
// has two that follow each other: block 0 for every clock but RAW, block 1 for
// CLOCK_MONOTONIC_RAW. Older kernels have one, and no raw clock.
struct BlockLayout {
  std::uint16_t seq;         // u32
  std::uint16_t mode;        // s32; right behind seq, both are read by one 8-byte load
  std::uint16_t cycle_last;  // u64
  std::uint16_t max_cycles;  // u64; 0 = the block has no such field
  std::uint16_t mask;        // u64
  std::uint16_t mult;        // u32
  std::uint16_t shift;       // u32
  std::uint16_t stride;      // distance from block 0 to block 1; 0 = there is one block
  std::uint16_t basetime;    // of the generic vDSO, u64 sec and u64 nsec for each
                             // of 12 ids; 0 = see slots
  std::uint32_t ids;         // the clocks that the blocks hold, one bit each
  arch::ClockModes modes{arch::kModesSince412};
  Slots slots{};
  bool narrow = false;  // of a 32-bit kernel, whose long has 4 bytes

  [[nodiscard]] constexpr bool is_generic() const noexcept { return basetime != 0; }
  [[nodiscard]] constexpr bool has_raw_block() const noexcept { return stride != 0; }
  [[nodiscard]] constexpr bool mode_follows_seq() const noexcept { return mode == seq + 4; }
  [[nodiscard]] constexpr std::size_t sec(ClockId id) const noexcept {
    return is_generic() ? basetime + std::size_t{16} * id : slots[id].sec;
  }
  [[nodiscard]] constexpr std::size_t nsec(ClockId id) const noexcept {
    return is_generic() ? sec(id) + 8 : slots[id].nsec;
  }
};

namespace detail {

constexpr Slots slots(Slot realtime, Slot monotonic, Slot realtime_coarse, Slot monotonic_coarse,
                      Slot tai = {}) {
  Slots all{};
  all[kRealtime] = realtime;
  all[kMonotonic] = monotonic;
  all[kRealtimeCoarse] = realtime_coarse;
  all[kMonotonicCoarse] = monotonic_coarse;
  all[kTai] = tai;
  return all;
}

inline constexpr std::uint32_t kOldIds = bit(kRealtime) | bit(kMonotonic) | kCoarseIds;

// struct vsyscall_gtod_data of 3.10 - 3.14.
constexpr BlockLayout block_a(Slot realtime_coarse, Slot monotonic_coarse) {
  return {0,
          8,
          16,
          0,
          24,
          32,
          36,
          0,
          0,
          kOldIds,
          arch::kModesUntil46,
          slots({40, 48}, {64, 56}, realtime_coarse, monotonic_coarse)};
}

// struct vsyscall_gtod_data with two-word seconds and shifted nanoseconds; the
// same bytes with other mode numbers.
constexpr BlockLayout block_b(arch::ClockModes modes) {
  return {0,  4, 8, 0,       16,    24,
          28, 0, 0, kOldIds, modes, slots({40, 32}, {48, 56}, {64, 72}, {80, 88})};
}

// The same struct where a long has 4 bytes.
constexpr BlockLayout block_b32(arch::ClockModes modes) {
  return {0,   4, 8, 0,       16,    24,
          28,  0, 0, kOldIds, modes, slots({40, 32}, {44, 48}, {56, 60}, {64, 68}),
          true};
}

}  // namespace detail

enum class BlockKind : std::uint8_t { kA, kAvz, kBUntil46, kB, kC, kD, kDm, kV, kB32Until46, kB32 };

// struct vsyscall_gtod_data, 3.10 - 3.14: arch/x86/include/asm/vgtod.h.
inline constexpr BlockLayout kBlockA = detail::block_a({80, 88}, {96, 104});
// The same with one field more before the time zone: OpenVZ's and
// Virtuozzo's 3.10.
inline constexpr BlockLayout kBlockAvz = detail::block_a({88, 96}, {104, 112});
// 3.15 - 4.6, and 4.7 - 4.19: the same file; 64-bit kernels.
inline constexpr BlockLayout kBlockBUntil46 = detail::block_b(arch::kModesUntil46);
inline constexpr BlockLayout kBlockB = detail::block_b(arch::kModesSince412);
// The same releases of 32-bit kernels.
inline constexpr BlockLayout kBlockB32Until46 = detail::block_b32(arch::kModesUntil46);
inline constexpr BlockLayout kBlockB32 = detail::block_b32(arch::kModesSince412);
// basetime[] of {sec, nsec} by clock id, 4.20 - 5.2: the same file.
inline constexpr BlockLayout kBlockC{
    0,
    4,
    8,
    0,
    16,
    24,
    28,
    0,
    0,
    detail::kOldIds | bit(kTai),
    arch::kModesSince412,
    detail::slots({32, 40}, {48, 56}, {112, 120}, {128, 136}, {208, 216})};
// include/vdso/datapage.h, struct vdso_data, 5.3 - 6.9 (x86); tz and
// hrtimer_res at its end.
inline constexpr BlockLayout kBlockD{0, 4, 8, 0, 16, 24, 28, 240, 32, kServedIds};
// The same struct with max_cycles, 6.10 - 6.14 (x86).
inline constexpr BlockLayout kBlockDm{0, 4, 8, 16, 24, 32, 36, 248, 40, kServedIds};
// struct vdso_clock, 6.15 and later (x86): tz and hrtimer_res have moved out of
// it.
inline constexpr BlockLayout kBlockV{0, 4, 8, 16, 24, 32, 36, 232, 40, kServedIds};

namespace detail {

template <bool Of64, bool Of32, class Visit>
constexpr decltype(auto) choose_block(BlockKind kind, Visit&& visit) {
  if constexpr (Of64) {
    if (kind == BlockKind::kA) {
      return visit.template operator()<kBlockA>();
    }
    if (kind == BlockKind::kAvz) {
      return visit.template operator()<kBlockAvz>();
    }
  }
  if constexpr (Of32) {
    if (kind == BlockKind::kB32Until46) {
      return visit.template operator()<kBlockB32Until46>();
    }
    if (kind == BlockKind::kB32) {
      return visit.template operator()<kBlockB32>();
    }
  }
  switch (kind) {
    case BlockKind::kBUntil46:
      return visit.template operator()<kBlockBUntil46>();
    case BlockKind::kB:
      return visit.template operator()<kBlockB>();
    case BlockKind::kC:
      return visit.template operator()<kBlockC>();
    case BlockKind::kD:
      return visit.template operator()<kBlockD>();
    case BlockKind::kDm:
      return visit.template operator()<kBlockDm>();
    default:
      break;
  }
  return visit.template operator()<kBlockV>();
}

}  // namespace detail

// Calls `visit` with the block layout of `kind` as a compile-time constant.
template <class Visit>
constexpr decltype(auto) with_block(BlockKind kind, Visit&& visit) {
  return detail::choose_block<true, true>(kind, visit);
}

// The same without code for the blocks that no program of this width can meet (those of 3.10 - 3.14
// in 32-bit ones, those of 32-bit kernels in 64-bit ones).
template <class Visit>
constexpr decltype(auto) with_own_block(BlockKind kind, Visit&& visit) {
  constexpr bool kIs64 = arch::kOwnWidth == arch::CodeWidth::k64;
  return detail::choose_block<kIs64, !kIs64>(kind, visit);
}

constexpr const BlockLayout& block_layout(BlockKind kind) noexcept {
  return with_block(kind, []<const BlockLayout & B>() -> const BlockLayout& { return B; });
}

// A page or field that this generation does not have.
inline constexpr std::int32_t kNoPage = 0;

// What the page offsets of a layout count from.
enum class Anchor : std::uint8_t {
  kImage,     // the start of the vDSO image
  kImageEnd,  // its end, in whole pages
  kAbsolute,  // address 0: the kernel's fixed mappings
};

// Whose vDSO has a layout. A 64-bit kernel gives one to each kind of program; a 32-bit kernel has
// 32-bit programs only.
enum class Programs : std::uint8_t { kAll, k64, k32 };

struct Layout {
  const char* name;  // kernel releases that have it, for the report; i386: 32-bit kernels
  BlockKind block;
  Anchor anchor;
  std::int32_t data;          // block 0, bytes from the anchor
  std::int32_t timens;        // in a time namespace: the real block 0
  std::int32_t pvclock;       // the record of vCPU 0
  std::int32_t hvclock;       // the Hyper-V page
  std::uint16_t timezone;     // s32 minutes west, s32 dst type; bytes from block 0
  std::uint16_t hrtimer_res;  // u32 ns; bytes from block 0; 0 = not in the page
  std::uint16_t size;         // bytes that a reader may touch, from block 0
  std::uint8_t highest_id;    // what the vDSO's code compares the clock id
                              // against; 0 = nothing to be seen
  bool hpet;                  // the code may read the HPET, a device in a page of its own, which
                              // we never touch
  Programs programs = Programs::kAll;

  [[nodiscard]] constexpr bool is_for(arch::CodeWidth width) const noexcept {
    return programs == Programs::kAll ||
           (programs == Programs::k32) == (width == arch::CodeWidth::k32);
  }
};

// Newest first. Sources: include/vdso/datapage.h,
// arch/x86/include/asm/{vvar,vgtod,fixmap}.h, arch/x86/entry/vdso/
// vdso-layout.lds.S and arch/x86/vdso/ of the releases named. Before 4.5 each
// CPU has a pvclock record of its own, outside the reach of the image: those
// are left to the kernel.
//
// The rows of 32-bit programs alone come last: what 32-bit kernels have where
// a 64-bit one has wider words, and the pages of 3.15, which 32-bit code
// reaches near its image. (Until 3.14 that code tells no time.)
inline constexpr std::array<Layout, 22> kLayouts{{
    {"6.17-7.3", BlockKind::kV, Anchor::kImage, -0x6000, -0x5000, -0x2000, -0x1000, 2320, 2328,
     2336, 23, false},
    {"6.15-6.16", BlockKind::kV, Anchor::kImage, -0x6000, -0x5000, -0x2000, -0x1000, 464, 472, 480,
     15, false},
    {"6.13-6.14", BlockKind::kDm, Anchor::kImage, -0x4000, -0x3000, -0x2000, -0x1000, 232, 240, 496,
     15, false},
    {"6.10-6.12", BlockKind::kDm, Anchor::kImage, -0x3f80, -0xf80, -0x3000, -0x2000, 232, 240, 496,
     15, false},
    {"5.6-6.9", BlockKind::kD, Anchor::kImage, -0x3f80, -0xf80, -0x3000, -0x2000, 224, 232, 480, 15,
     false},
    {"5.3-5.5", BlockKind::kD, Anchor::kImage, -0x2f80, kNoPage, -0x2000, -0x1000, 224, 232, 480,
     15, false},
    {"4.20-5.2", BlockKind::kC, Anchor::kImage, -0x2f80, kNoPage, -0x2000, -0x1000, 224, 0, 232, 15,
     false},
    {"4.12-4.19", BlockKind::kB, Anchor::kImage, -0x2f80, kNoPage, -0x2000, -0x1000, 96, 0, 104, 0,
     false},
    {"4.7-4.11", BlockKind::kB, Anchor::kImage, -0x1f80, kNoPage, -0x1000, kNoPage, 96, 0, 104, 0,
     false},
    {"4.5-4.6", BlockKind::kBUntil46, Anchor::kImage, -0x2f80, kNoPage, -0x1000, kNoPage, 96, 0,
     104, 0, true},
    {"3.17-4.4", BlockKind::kBUntil46, Anchor::kImage, -0x1f80, kNoPage, kNoPage, kNoPage, 96, 0,
     104, 0, true},
    {"3.16", BlockKind::kBUntil46, Anchor::kImageEnd, 0x80, kNoPage, kNoPage, kNoPage, 96, 0, 104,
     0, true},
    {"3.15", BlockKind::kBUntil46, Anchor::kAbsolute, -0xa00f80, kNoPage, kNoPage, kNoPage, 96, 0,
     104, 0, true, Programs::k64},
    {"3.10-3.14", BlockKind::kA, Anchor::kAbsolute, -0xa00f80, kNoPage, kNoPage, kNoPage, 72, 0,
     112, 0, true, Programs::k64},
    {"3.10 (OpenVZ)", BlockKind::kAvz, Anchor::kAbsolute, -0xa00f80, kNoPage, kNoPage, kNoPage, 76,
     0, 120, 0, true, Programs::k64},
    {"4.12-4.19 i386", BlockKind::kB32, Anchor::kImage, -0x2f80, kNoPage, -0x2000, -0x1000, 72, 0,
     80, 0, false, Programs::k32},
    {"4.7-4.11 i386", BlockKind::kB32, Anchor::kImage, -0x1f80, kNoPage, -0x1000, kNoPage, 72, 0,
     80, 0, false, Programs::k32},
    {"4.5-4.6 i386", BlockKind::kB32Until46, Anchor::kImage, -0x2f80, kNoPage, -0x1000, kNoPage, 72,
     0, 80, 0, true, Programs::k32},
    {"3.17-4.4 i386", BlockKind::kB32Until46, Anchor::kImage, -0x1f80, kNoPage, kNoPage, kNoPage,
     72, 0, 80, 0, true, Programs::k32},
    {"3.16 i386", BlockKind::kB32Until46, Anchor::kImageEnd, 0x80, kNoPage, kNoPage, kNoPage, 72, 0,
     80, 0, true, Programs::k32},
    {"3.15 i386", BlockKind::kB32Until46, Anchor::kImage, -0xf80, kNoPage, kNoPage, kNoPage, 72, 0,
     80, 0, true, Programs::k32},
    {"3.15 compat", BlockKind::kBUntil46, Anchor::kImage, -0xf80, kNoPage, kNoPage, kNoPage, 96, 0,
     104, 0, true, Programs::k32},
}};

}  // namespace vvarclock::vvar
