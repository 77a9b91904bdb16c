// What is measured: the calls, the bare instructions beside them, and the ways to make a call.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vvarclock::bench {

enum class Form : std::uint8_t {
  kClockGettime,
  kGettimeofday,
  kTime,
  kTimespecGet,
  kClockGetres,
  // Not calls of a way: what a turn of the loop costs anyway, and the counter by itself.
  kNothing,    // the loop, and the work in it
  kEmptyCall,  // the loop with an indirect call of a function that returns at once
  kRdtsc,
  kLfenceRdtsc,
  kRdtscp,
};

struct Call {
  const char* name;
  Form form;
  clockid_t id;
};

inline constexpr std::array<Call, 12> kCalls{{
    {"CLOCK_REALTIME", Form::kClockGettime, CLOCK_REALTIME},
    {"CLOCK_MONOTONIC", Form::kClockGettime, CLOCK_MONOTONIC},
    {"CLOCK_MONOTONIC_RAW", Form::kClockGettime, CLOCK_MONOTONIC_RAW},
    {"CLOCK_BOOTTIME", Form::kClockGettime, CLOCK_BOOTTIME},
    {"CLOCK_TAI", Form::kClockGettime, CLOCK_TAI},
    {"CLOCK_REALTIME_COARSE", Form::kClockGettime, CLOCK_REALTIME_COARSE},
    {"CLOCK_MONOTONIC_COARSE", Form::kClockGettime, CLOCK_MONOTONIC_COARSE},
    {"gettimeofday", Form::kGettimeofday, CLOCK_REALTIME},
    {"time", Form::kTime, CLOCK_REALTIME},
    {"timespec_get", Form::kTimespecGet, CLOCK_REALTIME},
    {"clock_getres", Form::kClockGetres, CLOCK_MONOTONIC},
    // The kernel's whoever is asked: what passing a call on costs.
    {"CLOCK_PROCESS_CPUTIME_ID", Form::kClockGettime, CLOCK_PROCESS_CPUTIME_ID},
}};

// Index in kCalls; kCalls.size() when there is none. In any case of letters; "MONOTONIC" is
// CLOCK_MONOTONIC.
std::size_t find_call(std::string_view name);

inline constexpr std::array<Call, 5> kBare{{
    {"loop alone", Form::kNothing, 0},
    {"call that returns at once", Form::kEmptyCall, 0},
    {"rdtsc", Form::kRdtsc, 0},
    {"lfence; rdtsc", Form::kLfenceRdtsc, 0},
    {"rdtscp", Form::kRdtscp, 0},
}};

// Function pointers, so that every way costs one indirect call, as through the loader's table.
struct Way {
  int (*clock_gettime)(clockid_t, timespec*) = nullptr;
  int (*gettimeofday)(timeval*, void*) = nullptr;
  time_t (*time)(time_t*) = nullptr;
  int (*timespec_get)(timespec*, int) = nullptr;
  int (*clock_getres)(clockid_t, timespec*) = nullptr;

  [[nodiscard]] bool complete() const noexcept {
    return clock_gettime != nullptr && gettimeofday != nullptr && time != nullptr &&
           timespec_get != nullptr && clock_getres != nullptr;
  }
};

Way way_of_library(void* handle);  // a dlopen handle
Way libc_way();                    // libc's own functions, whatever is preloaded
Way syscall_way();

}  // namespace vvarclock::bench
