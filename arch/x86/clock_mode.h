// The kernel's clock mode numbers on x86: which counter its clock source is
// read by.
//
// Source: enum vdso_clock_mode in include/vdso/clocksource.h and
// arch/x86/include/asm/vdso/clocksource.h (5.7 and later), VCLOCK_* in
// arch/x86/include/asm/clocksource.h before. These numbers hold from 4.12 on;
// older kernels gave 2 to the HPET and 3 to pvclock. Unknown numbers mean the
// syscall.
#pragma once

#include <cstdint>

namespace vvarclock::arch {

using ClockMode = std::int32_t;

inline constexpr ClockMode kModeNone = 0;
inline constexpr ClockMode kModeTsc = 1;
inline constexpr ClockMode kModePvclock = 2;
inline constexpr ClockMode kModeHvclock = 3;

// What the numbers beyond the TSC's mean in one generation of kernels. kNoMode:
// no such mode.
inline constexpr ClockMode kNoMode = 0x7ffffffe;
struct ClockModes {
  ClockMode pvclock;
  ClockMode hvclock;
  ClockMode highest;  // numbers above are none of this generation
};

inline constexpr ClockModes kModesSince412{kModePvclock, kModeHvclock, 3};
// Until 4.6, 2 is the HPET: a device that is read by nobody here. RHEL 7 gives
// 4 to the Hyper-V page, whose address depends on the kernel's build: left to
// the kernel.
inline constexpr ClockModes kModesUntil46{3, kNoMode, 4};

// Not a number of the kernel's: what 2 meant until 4.6.
inline constexpr ClockMode kModeHpet = 0x7ffffffd;

// The number that a mode of this generation has today.
constexpr ClockMode todays_mode(ClockMode mode, const ClockModes& modes) noexcept {
  return mode == modes.pvclock   ? kModePvclock
         : mode == modes.hvclock ? kModeHvclock
         : mode == kModePvclock  ? kModeHpet
                                 : mode;
}

// The number that a mode of today has in this generation.
constexpr ClockMode own_mode(ClockMode today, const ClockModes& modes) noexcept {
  return today == kModePvclock ? modes.pvclock : today == kModeHvclock ? modes.hvclock : today;
}

// Not a mode: whatever the kernel says.
inline constexpr ClockMode kAnyMode = 0x7ffffffc;

// The mode that marks a time-namespace page.
inline constexpr ClockMode kModeTimens = 0x7fffffff;  // 5.7 and later
inline constexpr ClockMode kModeTimens56 = -1;        // 5.6 only

constexpr bool is_timens(ClockMode mode) noexcept {
  return mode == kModeTimens || mode == kModeTimens56;
}

constexpr const char* clock_mode_name(ClockMode mode) noexcept {
  switch (mode) {
    case kModeNone:
      return "none";
    case kModeTsc:
      return "tsc";
    case kModePvclock:
      return "pvclock";
    case kModeHvclock:
      return "hvclock";
    case kModeHpet:
      return "hpet";
    case kModeTimens:
    case kModeTimens56:
      return "timens";
    default:
      return "unknown";
  }
}

}  // namespace vvarclock::arch
