// What is checked of every call in one process of guest_check: values, order, resolutions, the time
// zone; in every width of seconds.
//
// Depends on a real kernel beneath: each value is held against the bare system call. Sets the
// kernel's time zone.
#pragma once

#include <atomic>
#include <cstdint>

#include "test/kernels/guest/clocks.h"
#include "test/kernels/guest/result.h"

namespace guest {

struct Run {
  Nanoseconds length;
  Result result;
  std::atomic<std::uint64_t> brackets{0};
  // Of MONOTONIC, over all threads: no ordered read may be below it.
  std::atomic<Nanoseconds> latest{0};
};

// Each clock of `ids` between two system calls. Seconds that do not fit the caller's must be
// refused with EOVERFLOW, here and by every other call.
void check_clocks(Run& run, std::uint32_t ids);

// time, to the second.
void check_time(Run& run);

// All calls, over and over for the run's length, on one CPU, to which the calling thread is bound.
void check_on_cpu(Run& run, unsigned cpu);

void check_resolutions(Run& run);

// gettimeofday's second argument: the kernel's zone; zeros for callers with 64-bit seconds in a
// 32-bit program, as glibc has it.
void check_zone(Run& run);

}  // namespace guest
