#include "core/discover/invariants.h"

#include <initializer_list>

#include "core/vvar/mult_rule.h"

namespace vvarclock::discover {
namespace {

using vvar::ClockId;
using vvar::kNsPerSec;
using vvar::SecNsec;

constexpr std::uint64_t kNsecSlack =
    100'000'000;  // ns that a base may be over a second: small carries
constexpr std::uint64_t kMaxTaiOffset = 100'000;   // seconds; the kernel's own limit for ADJ_TAI
constexpr std::int32_t kMaxMinutesWest = 15 * 60;  // the kernel's own limit
constexpr std::uint32_t kUsedInBlock0 = vvar::kHresIds | vvar::kCoarseIds;

// A counter a little behind cycle_last is another CPU's; one hours ahead is another counter.
constexpr std::int64_t kCountersApart = 1'000'000;
constexpr std::uint64_t kOldestUpdateSec = 3600;

// Nanoseconds of a base modulo 2^64; differences of such are exact.
std::uint64_t ns_of(const SecNsec& time) noexcept { return time.sec * kNsPerSec + time.nsec; }

bool is_zero(const SecNsec& time) noexcept { return (time.sec | time.nsec) == 0; }

Finding check_unused_slots(const PageCopy& copy, const vvar::BlockLayout& layout) noexcept {
  if (!layout.is_generic()) {
    return {};  // no slots but the used ones
  }
  for (ClockId id = 0; id < vvar::kBasetimeSlots; ++id) {
    if (!vvar::is_in(id, kUsedInBlock0) && !is_zero(copy.blocks[0].basetime[id])) {
      return {ProbeTest::kZeroSlots, id};
    }
    if (!vvar::is_in(id, vvar::kRawIds) && !is_zero(copy.blocks[1].basetime[id])) {
      return {ProbeTest::kZeroSlots, vvar::kBasetimeSlots + id};
    }
  }
  return {};
}

Finding check_coarse(const PageCopy& copy) noexcept {
  for (const ClockId id : {vvar::kRealtimeCoarse, vvar::kMonotonicCoarse}) {
    const SecNsec& base = copy.blocks[0].basetime[id];
    if (base.nsec >= kNsPerSec || is_zero(base)) {
      return {ProbeTest::kCoarseRange, base.nsec, static_cast<std::int32_t>(id)};
    }
  }
  return {};
}

// A mult that NTP has steered, alone: the shift must be the one that the kernel takes for about
// this frequency.
bool is_steered_choice(const BlockCopy& fine, arch::ClockMode mode) noexcept {
  const std::uint32_t khz = vvar::khz_of({fine.mult, fine.shift});
  const std::uint32_t slack = khz / 1000;
  bool shift_fits = false;
  for (const std::uint32_t end : {khz - slack, khz + slack}) {
    shift_fits |= khz > slack && vvar::expected_mult_shift(end).shift == fine.shift;
  }
  const auto near = [&](std::uint32_t wanted) {
    return khz > wanted / 100 * 89 && khz < wanted / 100 * 113;
  };
  switch (mode) {
    case arch::kModeTsc:
      return shift_fits && khz >= vvar::kLowestTscKhz && khz <= vvar::kHighestTscKhz;
    case arch::kModePvclock:
      return shift_fits && near(vvar::kPvclockKhz);
    case arch::kModeHvclock:
      return shift_fits && near(vvar::kHvclockKhz);
    default:
      return false;
  }
}

Finding check_two_blocks(const PageCopy& copy) noexcept {
  const BlockCopy& fine = copy.blocks[0];
  const BlockCopy& raw = copy.blocks[1];
  if (fine.cycle_last != raw.cycle_last || fine.mask != raw.mask || fine.shift != raw.shift ||
      fine.max_cycles != raw.max_cycles) {
    return {ProbeTest::kBlocksDisagree, raw.cycle_last};
  }
  const std::uint32_t apart = fine.mult > raw.mult ? fine.mult - raw.mult : raw.mult - fine.mult;
  if (apart > vvar::max_adjustment(raw.mult)) {
    return {ProbeTest::kRawMult, fine.mult};
  }
  return {};
}

Finding check_scale(const PageCopy& copy, const vvar::BlockLayout& layout) noexcept {
  const BlockCopy& fine = copy.blocks[0];
  const BlockCopy& raw = copy.blocks[1];
  if (fine.mask != ~std::uint64_t{0}) {
    return {ProbeTest::kMask, fine.mask};
  }
  if (fine.shift < 1 || fine.shift > 32) {
    return {ProbeTest::kShift, fine.shift};
  }
  const arch::ClockMode mode = arch::todays_mode(fine.mode, layout.modes);
  const bool chosen = layout.has_raw_block() ? vvar::is_kernels_choice({raw.mult, raw.shift}, mode)
                                             : is_steered_choice(fine, mode);
  if (!chosen) {
    return {ProbeTest::kMult, raw.mult};
  }
  if (layout.max_cycles != 0 && fine.max_cycles != vvar::expected_max_cycles(raw.mult)) {
    return {ProbeTest::kMaxCycles, fine.max_cycles};
  }
  return layout.has_raw_block() ? check_two_blocks(copy) : Finding{};
}

Finding check_counter_age(const BlockCopy& fine, const Surroundings& around) noexcept {
  if (!around.counter_known) {
    return {};
  }
  const std::uint64_t age = around.counter - fine.cycle_last;
  const std::uint64_t oldest =
      vvar::khz_of({fine.mult, fine.shift}) * std::uint64_t{1000} * kOldestUpdateSec;
  const auto signed_age = static_cast<std::int64_t>(age);
  if (signed_age < -kCountersApart || signed_age > static_cast<std::int64_t>(oldest)) {
    return {ProbeTest::kCounterAge, age};
  }
  return {};
}

// The mode of each block leads its readers to a page; the one of block 0 alone is looked up.
Finding check_one_mode(const PageCopy& copy, const vvar::BlockLayout& layout) noexcept {
  const BlockCopy& fine = copy.blocks[0];
  const BlockCopy& raw = copy.blocks[1];
  if (layout.has_raw_block() && (fine.seq != raw.seq || fine.mode != raw.mode)) {
    return {ProbeTest::kBlocksDisagree, static_cast<std::uint32_t>(raw.mode)};
  }
  return {};
}

// Nanoseconds of a fine base, whole.
std::uint64_t fine_ns(const BlockCopy& block, ClockId id) noexcept {
  return block.basetime[id].sec * kNsPerSec + (block.basetime[id].nsec >> block.shift);
}

Finding check_fine_ranges(const PageCopy& copy, const vvar::BlockLayout& layout) noexcept {
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    if (vvar::is_in(clock.id, vvar::kCoarseIds) || !vvar::is_in(clock.id, layout.ids)) {
      continue;
    }
    const BlockCopy& block = copy.blocks[vvar::is_in(clock.id, vvar::kRawIds) ? 1 : 0];
    const SecNsec& base = block.basetime[clock.id];
    if ((base.nsec >> block.shift) >= kNsPerSec + kNsecSlack || is_zero(base)) {
      return {ProbeTest::kNsecRange, base.nsec, static_cast<std::int32_t>(clock.id)};
    }
  }
  return {};
}

// REALTIME - MONOTONIC: the same number in the fine and in the coarse clocks, to the shifted
// nanosecond (modulo 2^64).
Finding check_wall_to_monotonic(const BlockCopy& fine) noexcept {
  const auto base = [&](ClockId id) -> const SecNsec& { return fine.basetime[id]; };
  const std::uint64_t apart =
      ((base(vvar::kRealtime).sec - base(vvar::kMonotonic).sec) * kNsPerSec << fine.shift) +
      base(vvar::kRealtime).nsec - base(vvar::kMonotonic).nsec;
  const std::uint64_t coarse_apart =
      ns_of(base(vvar::kRealtimeCoarse)) - ns_of(base(vvar::kMonotonicCoarse));
  return apart == coarse_apart << fine.shift ? Finding{}
                                             : Finding{ProbeTest::kWallToMonotonic, apart};
}

Finding check_bases(const PageCopy& copy, const vvar::BlockLayout& layout,
                    const Surroundings& around) noexcept {
  const BlockCopy& fine = copy.blocks[0];
  const auto base = [&](ClockId id) -> const SecNsec& { return fine.basetime[id]; };
  if (const Finding found = check_fine_ranges(copy, layout); found.test != ProbeTest::kPassed) {
    return found;
  }
  if (vvar::is_in(vvar::kTai, layout.ids) &&
      (base(vvar::kTai).nsec != base(vvar::kRealtime).nsec ||
       base(vvar::kTai).sec - base(vvar::kRealtime).sec > kMaxTaiOffset)) {
    return {ProbeTest::kTai, base(vvar::kTai).nsec};
  }
  if (const Finding found = check_wall_to_monotonic(fine); found.test != ProbeTest::kPassed) {
    return found;
  }
  if (vvar::is_in(vvar::kBoottime, layout.ids) &&
      static_cast<std::int64_t>(fine_ns(fine, vvar::kBoottime) - fine_ns(fine, vvar::kMonotonic)) <
          0) {
    return {ProbeTest::kBoottime, fine_ns(fine, vvar::kBoottime)};
  }
  const std::uint64_t late = fine_ns(fine, vvar::kMonotonic) - ns_of(base(vvar::kMonotonicCoarse));
  const std::uint64_t tick = around.coarse_resolution;
  return late + tick > 2 * tick ? Finding{ProbeTest::kCoarseBase, late} : Finding{};
}

}  // namespace

Finding check_any_mode(const PageCopy& copy, const vvar::Layout& layout,
                       const Surroundings& around) noexcept {
  if (const Finding found = check_unused_slots(copy, vvar::block_layout(layout.block));
      found.test != ProbeTest::kPassed) {
    return found;
  }
  if (const Finding found = check_coarse(copy); found.test != ProbeTest::kPassed) {
    return found;
  }
  if (layout.hrtimer_res != 0 && copy.hrtimer_res != around.resolution_ns) {
    return {ProbeTest::kResolution, copy.hrtimer_res};
  }
  const vvar::Timezone& zone = copy.timezone;
  if (zone.minutes_west != around.timezone.minutes_west ||
      zone.dst_type != around.timezone.dst_type || zone.minutes_west > kMaxMinutesWest ||
      zone.minutes_west < -kMaxMinutesWest) {
    return {ProbeTest::kTimezone, static_cast<std::uint32_t>(zone.minutes_west)};
  }
  return check_one_mode(copy, vvar::block_layout(layout.block));
}

Finding check_counting(const PageCopy& copy, const vvar::BlockLayout& layout,
                       const Surroundings& around) noexcept {
  if (const Finding found = check_scale(copy, layout); found.test != ProbeTest::kPassed) {
    return found;
  }
  if (const Finding found = check_counter_age(copy.blocks[0], around);
      found.test != ProbeTest::kPassed) {
    return found;
  }
  return check_bases(copy, layout, around);
}

}  // namespace vvarclock::discover
