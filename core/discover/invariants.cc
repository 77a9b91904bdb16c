#include "core/discover/invariants.h"

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

Finding check_unused_slots(const PageCopy& copy) noexcept {
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

Finding check_scale(const PageCopy& copy, const vvar::BlockLayout& layout) noexcept {
  const BlockCopy& fine = copy.blocks[0];
  const BlockCopy& raw = copy.blocks[1];
  if (fine.mask != ~std::uint64_t{0}) {
    return {ProbeTest::kMask, fine.mask};
  }
  if (fine.shift < 1 || fine.shift > 32) {
    return {ProbeTest::kShift, fine.shift};
  }
  if (!vvar::is_kernels_choice({raw.mult, raw.shift}, fine.mode)) {
    return {ProbeTest::kMult, raw.mult};
  }
  if (layout.max_cycles != 0 && fine.max_cycles != vvar::expected_max_cycles(raw.mult)) {
    return {ProbeTest::kMaxCycles, fine.max_cycles};
  }
  if (fine.seq != raw.seq || fine.mode != raw.mode || fine.cycle_last != raw.cycle_last ||
      fine.mask != raw.mask || fine.shift != raw.shift || fine.max_cycles != raw.max_cycles) {
    return {ProbeTest::kBlocksDisagree, raw.cycle_last};
  }
  const std::uint32_t apart = fine.mult > raw.mult ? fine.mult - raw.mult : raw.mult - fine.mult;
  if (apart > vvar::max_adjustment(raw.mult)) {
    return {ProbeTest::kRawMult, fine.mult};
  }
  return {};
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

Finding check_bases(const PageCopy& copy, const Surroundings& around) noexcept {
  const BlockCopy& fine = copy.blocks[0];
  const std::uint32_t shift = fine.shift;
  const auto base = [&](ClockId id) -> const SecNsec& { return fine.basetime[id]; };
  for (const ClockId id : {vvar::kRealtime, vvar::kMonotonic, vvar::kBoottime, vvar::kTai}) {
    if ((base(id).nsec >> shift) >= kNsPerSec + kNsecSlack) {
      return {ProbeTest::kNsecRange, base(id).nsec, static_cast<std::int32_t>(id)};
    }
  }
  const SecNsec& raw = copy.blocks[1].basetime[vvar::kMonotonicRaw];
  if ((raw.nsec >> shift) >= kNsPerSec + kNsecSlack || is_zero(raw)) {
    return {ProbeTest::kNsecRange, raw.nsec, static_cast<std::int32_t>(vvar::kMonotonicRaw)};
  }
  if (base(vvar::kTai).nsec != base(vvar::kRealtime).nsec ||
      base(vvar::kTai).sec - base(vvar::kRealtime).sec > kMaxTaiOffset) {
    return {ProbeTest::kTai, base(vvar::kTai).nsec};
  }
  // REALTIME - MONOTONIC: the same number in the fine and in the coarse clocks, to the shifted
  // nanosecond (modulo 2^64).
  const std::uint64_t fine_apart =
      ((base(vvar::kRealtime).sec - base(vvar::kMonotonic).sec) * kNsPerSec << shift) +
      base(vvar::kRealtime).nsec - base(vvar::kMonotonic).nsec;
  const std::uint64_t coarse_apart =
      ns_of(base(vvar::kRealtimeCoarse)) - ns_of(base(vvar::kMonotonicCoarse));
  if (fine_apart != coarse_apart << shift) {
    return {ProbeTest::kWallToMonotonic, fine_apart};
  }
  const auto fine_ns = [&](ClockId id) {
    return base(id).sec * kNsPerSec + (base(id).nsec >> shift);
  };
  if (static_cast<std::int64_t>(fine_ns(vvar::kBoottime) - fine_ns(vvar::kMonotonic)) < 0) {
    return {ProbeTest::kBoottime, fine_ns(vvar::kBoottime)};
  }
  const std::uint64_t late = fine_ns(vvar::kMonotonic) - ns_of(base(vvar::kMonotonicCoarse));
  const std::uint64_t tick = around.coarse_resolution;
  if (late + tick > 2 * tick) {
    return {ProbeTest::kCoarseBase, late};
  }
  return {};
}

}  // namespace

Finding check_any_mode(const PageCopy& copy, const Surroundings& around) noexcept {
  if (const Finding found = check_unused_slots(copy); found.test != ProbeTest::kPassed) {
    return found;
  }
  if (const Finding found = check_coarse(copy); found.test != ProbeTest::kPassed) {
    return found;
  }
  if (copy.hrtimer_res != around.resolution_ns) {
    return {ProbeTest::kResolution, copy.hrtimer_res};
  }
  const vvar::Timezone& zone = copy.timezone;
  if (zone.minutes_west != around.timezone.minutes_west ||
      zone.dst_type != around.timezone.dst_type || zone.minutes_west > kMaxMinutesWest ||
      zone.minutes_west < -kMaxMinutesWest) {
    return {ProbeTest::kTimezone, static_cast<std::uint32_t>(zone.minutes_west)};
  }
  return {};
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
  return check_bases(copy, around);
}

}  // namespace vvarclock::discover
