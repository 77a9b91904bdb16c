// Who answers a call: one table, right from the first instruction of the process to the last.
//
// Constant-initialised to the system call, replaced once by attach, read-only from then on. There
// is no lock and no once-flag: a caller sees the one or the other, and both are right.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "arch/ordering.h"
#include "core/serve/fallback.h"
#include "core/vvar/binding.h"
#include "core/vvar/layout.h"

namespace vvarclock::serve {

// One function per exported name.
struct Functions {
  int (*clock_gettime)(clockid_t, timespec*) noexcept;
  int (*gettimeofday)(timeval*, void*) noexcept;
  time_t (*time)(time_t*) noexcept;
  int (*timespec_get)(timespec*, int) noexcept;
  int (*clock_getres)(clockid_t, timespec*) noexcept;
};

// What every call reads, on a page of its own so that it can be made read-only, and on lines that
// nothing writes (some machines have lines of 128 bytes).
struct alignas(4096) Dispatch {
  vvar::Binding binding;
  std::atomic<int (*)(clockid_t, timespec*) noexcept> clock_gettime{&fallback::clock_gettime};
  std::atomic<int (*)(timeval*, void*) noexcept> gettimeofday{&fallback::gettimeofday};
  std::atomic<time_t (*)(time_t*) noexcept> time{&fallback::time};
  std::atomic<int (*)(timespec*, int) noexcept> timespec_get{&fallback::timespec_get};
  std::atomic<int (*)(clockid_t, timespec*) noexcept> clock_getres{&fallback::clock_getres};
};

extern constinit Dispatch dispatch;

// The readers for a block kind and an ordering; with counter_allowed false, readers that never
// touch the counter.
Functions page_readers(vvar::BlockKind kind, arch::Ordering ordering,
                       bool counter_allowed) noexcept;

// Puts the page readers in place, once per process, and makes the table read-only. The binding must
// be believed.
void attach(const vvar::Binding& binding, const Functions& functions) noexcept;

}  // namespace vvarclock::serve
