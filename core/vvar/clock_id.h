// Clock ids: which family an id belongs to, and its name.
//
// The numbers are the kernel's ABI (include/uapi/linux/time.h). Everything outside the families
// (negative ids, CPU-time clocks, dynamic and alarm clocks, auxiliary and future ids) is the
// kernel's to answer.
#pragma once

#include <array>
#include <cstdint>

namespace vvarclock::vvar {

using ClockId =
    std::uint32_t;  // a negative clockid_t becomes a large number and so belongs to no family

inline constexpr ClockId kRealtime = 0;
inline constexpr ClockId kMonotonic = 1;
inline constexpr ClockId kMonotonicRaw = 4;
inline constexpr ClockId kRealtimeCoarse = 5;
inline constexpr ClockId kMonotonicCoarse = 6;
inline constexpr ClockId kBoottime = 7;
inline constexpr ClockId kTai = 11;
inline constexpr ClockId kBasetimeSlots = 12;  // basetime[] entries in one clock block

constexpr std::uint32_t bit(ClockId id) noexcept { return 1U << id; }

inline constexpr std::uint32_t kHresIds =
    bit(kRealtime) | bit(kMonotonic) | bit(kBoottime) | bit(kTai);
inline constexpr std::uint32_t kRawIds = bit(kMonotonicRaw);
inline constexpr std::uint32_t kCoarseIds = bit(kRealtimeCoarse) | bit(kMonotonicCoarse);
inline constexpr std::uint32_t kServedIds = kHresIds | kRawIds | kCoarseIds;

constexpr bool is_in(ClockId id, std::uint32_t ids) noexcept {
  return id < 32 && ((ids >> id) & 1U) != 0;
}

struct NamedClock {
  ClockId id;
  const char* name;
};

// Every clock that the page reader serves.
inline constexpr std::array<NamedClock, 7> kServedClocks{{
    {kRealtime, "CLOCK_REALTIME"},
    {kMonotonic, "CLOCK_MONOTONIC"},
    {kMonotonicRaw, "CLOCK_MONOTONIC_RAW"},
    {kRealtimeCoarse, "CLOCK_REALTIME_COARSE"},
    {kMonotonicCoarse, "CLOCK_MONOTONIC_COARSE"},
    {kBoottime, "CLOCK_BOOTTIME"},
    {kTai, "CLOCK_TAI"},
}};

}  // namespace vvarclock::vvar
