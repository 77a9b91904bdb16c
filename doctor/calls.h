// The calls that are served, and the ways to make them: as a program does, as libc alone, the
// vDSO's own functions, the readers without the preloaded library, the system call.
//
// Function pointers only, so that every way costs one indirect call, as through the dynamic linker.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <functional>

#include "core/discover/vdso_image.h"
#include "core/serve/dispatch.h"
#include "core/vvar/clock_id.h"

namespace vvarclock::doctor {

// A null function: this way does not have it.
struct Way {
  int (*clock_gettime)(clockid_t, timespec*) = nullptr;
  int (*gettimeofday)(timeval*, void*) = nullptr;
  time_t (*time)(time_t*) = nullptr;
  int (*clock_getres)(clockid_t, timespec*) = nullptr;
};

Way program_way();  // what the names resolve to in this process
Way libc_way();     // libc's own, whatever is preloaded
Way vdso_way(const discover::VdsoImage& image);
Way reader_way(const serve::Functions& functions);
Way syscall_way();

enum class Form : std::uint8_t { kClockGettime, kGettimeofday, kTime, kClockGetres };

struct Call {
  const char* name;
  Form form;
  vvar::ClockId id;
  bool reads_counter;
};

inline constexpr std::array<Call, 10> kCalls{{
    {"CLOCK_REALTIME", Form::kClockGettime, vvar::kRealtime, true},
    {"CLOCK_MONOTONIC", Form::kClockGettime, vvar::kMonotonic, true},
    {"CLOCK_MONOTONIC_RAW", Form::kClockGettime, vvar::kMonotonicRaw, true},
    {"CLOCK_BOOTTIME", Form::kClockGettime, vvar::kBoottime, true},
    {"CLOCK_TAI", Form::kClockGettime, vvar::kTai, true},
    {"CLOCK_REALTIME_COARSE", Form::kClockGettime, vvar::kRealtimeCoarse, false},
    {"CLOCK_MONOTONIC_COARSE", Form::kClockGettime, vvar::kMonotonicCoarse, false},
    {"gettimeofday", Form::kGettimeofday, vvar::kRealtime, true},
    {"time", Form::kTime, vvar::kRealtime, false},
    {"clock_getres", Form::kClockGetres, vvar::kMonotonic, false},
}};

bool has(const Way& way, const Call& call);

// Makes the call once; true: it succeeded.
bool succeeds(const Way& way, const Call& call);

// Makes the call so many times. The way must have it.
std::function<void(std::uint32_t)> repeated(const Way& way, const Call& call);

}  // namespace vvarclock::doctor
