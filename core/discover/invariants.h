// What must be true of a page's bytes, whatever the time: the invariants that the kernel's
// timekeeping keeps.
//
// Source: kernel/time/vsyscall.c and timekeeping.c, 5.3 to 7.3. Pure functions of a copy; the
// numbers that only the kernel knows (resolutions, the counter) are handed in.
#pragma once

#include <cstdint>

#include "core/discover/layout_probe.h"
#include "core/discover/page_copy.h"

namespace vvarclock::discover {

// One finding: kPassed, or the first test that failed and the number that failed it.
struct Finding {
  ProbeTest test = ProbeTest::kPassed;
  std::uint64_t value = 0;
  std::int32_t clock = -1;
};

struct Surroundings {
  std::uint64_t counter = 0;            // the counter just after the copy, when it is known
  bool counter_known = false;           // clock mode TSC and the process may read it
  std::uint32_t resolution_ns = 0;      // clock_getres of CLOCK_MONOTONIC
  std::uint32_t coarse_resolution = 0;  // clock_getres of CLOCK_MONOTONIC_COARSE: one tick, in ns
  vvar::Timezone timezone{};            // as gettimeofday says
};

// Everything that holds in any clock mode.
Finding check_any_mode(const PageCopy& copy, const vvar::Layout& layout,
                       const Surroundings& around) noexcept;

// What holds beyond that while the clock mode names a counter. In mode none the kernel leaves these
// fields stale or zero.
Finding check_counting(const PageCopy& copy, const vvar::BlockLayout& layout,
                       const Surroundings& around) noexcept;

}  // namespace vvarclock::discover
