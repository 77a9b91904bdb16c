// Every clock call that the library serves, in pairs: through the exported function, and by the
// system call in the same unit. And the bracket: a system call before, the own read, a system call
// after.
//
// A bracket holds when before <= own <= after, each in the resolution of the call. The wall clock
// may be set by somebody else while a test runs; then, and only then, a bracket of a call that
// follows it is void. Depends on test/support/process.h and arch/x86/raw_syscall.h.
#pragma once

#include <sys/timerfd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "arch/x86/raw_syscall.h"
#include "test/support/process.h"

namespace vvarclock::process {

inline constexpr std::int64_t kNsPerSec = 1'000'000'000;
inline constexpr std::int64_t kNsPerUs = 1'000;

inline std::int64_t to_ns(const timespec& time) { return time.tv_sec * kNsPerSec + time.tv_nsec; }

struct Call {
  const char* name;
  std::int64_t (*own)();
  std::int64_t (*kernel)();
  bool settable;       // follows the wall clock
  bool needs_counter;  // not from the page alone
};

template <clockid_t Id>
std::int64_t own_clock() {
  timespec now{};
  const int result = ::clock_gettime(Id, &now);
  expect(result == 0, "clock_gettime(%d) gave %d, errno %d", Id, result, errno);
  expect(now.tv_nsec >= 0 && now.tv_nsec < kNsPerSec,
         "clock_gettime(%d): %ld ns are no part of a second", Id, now.tv_nsec);
  return to_ns(now);
}

template <clockid_t Id>
std::int64_t kernel_clock() {
  timespec now{};
  const long result = arch::raw_clock_gettime(Id, &now);
  expect(result == 0, "system call clock_gettime(%d) gave %ld", Id, result);
  return to_ns(now);
}

inline std::int64_t own_gettimeofday() {
  timeval now{};
  expect(::gettimeofday(&now, nullptr) == 0, "gettimeofday failed, errno %d", errno);
  expect(now.tv_usec >= 0 && now.tv_usec < kNsPerSec / kNsPerUs,
         "gettimeofday: %ld us are no part of a second", now.tv_usec);
  return now.tv_sec * (kNsPerSec / kNsPerUs) + now.tv_usec;
}

inline std::int64_t kernel_microseconds() { return kernel_clock<CLOCK_REALTIME>() / kNsPerUs; }

inline std::int64_t own_time() {
  time_t stored = 0;
  const time_t now = ::time(&stored);
  expect(now == stored, "time() gave %ld and stored %ld", static_cast<long>(now),
         static_cast<long>(stored));
  return now;
}

inline std::int64_t kernel_time() { return arch::raw_time(nullptr); }

inline std::int64_t own_timespec_get() {
  timespec now{};
  const int base = ::timespec_get(&now, TIME_UTC);
  expect(base == TIME_UTC, "timespec_get(TIME_UTC) gave %d", base);
  return to_ns(now);
}

inline constexpr std::array<Call, 10> kCalls{{
    {"CLOCK_REALTIME (0)", own_clock<0>, kernel_clock<0>, true, true},
    {"CLOCK_MONOTONIC (1)", own_clock<1>, kernel_clock<1>, false, true},
    {"CLOCK_MONOTONIC_RAW (4)", own_clock<4>, kernel_clock<4>, false, true},
    {"CLOCK_REALTIME_COARSE (5)", own_clock<5>, kernel_clock<5>, true, false},
    {"CLOCK_MONOTONIC_COARSE (6)", own_clock<6>, kernel_clock<6>, false, false},
    {"CLOCK_BOOTTIME (7)", own_clock<7>, kernel_clock<7>, false, true},
    {"CLOCK_TAI (11)", own_clock<11>, kernel_clock<11>, true, true},
    {"gettimeofday", own_gettimeofday, kernel_microseconds, true, true},
    {"time", own_time, kernel_time, true, false},
    {"timespec_get", own_timespec_get, kernel_clock<0>, true, true},
}};

inline constexpr std::array<clockid_t, 7> kServedIds{0, 1, 4, 5, 6, 7, 11};

// Notices that the wall clock was set (not slewed) since construction. Holds one descriptor.
class WallClockWatch {
 public:
  WallClockWatch() : timer_(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC)) {
    itimerspec never{};
    never.it_value.tv_sec = std::numeric_limits<std::int32_t>::max();
    expect(timer_ >= 0 && timerfd_settime(timer_, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                                          &never, nullptr) == 0,
           "timerfd: %s", std::strerror(errno));
  }
  WallClockWatch(const WallClockWatch&) = delete;
  WallClockWatch& operator=(const WallClockWatch&) = delete;
  ~WallClockWatch() { close(timer_); }

  [[nodiscard]] bool was_set() const {
    std::uint64_t expirations = 0;
    return read(timer_, &expirations, sizeof expirations) < 0 && errno == ECANCELED;
  }

 private:
  int timer_;
};

struct Bracket {
  std::int64_t before;
  std::int64_t own;
  std::int64_t after;
  [[nodiscard]] bool holds() const { return before <= own && own <= after; }
};

[[noreturn]] inline void fail_bracket(const char* where, const Call& call, const Bracket& seen) {
  fail("%s%s: %lld is not between %lld and %lld (%+lld, %+lld)", where, call.name,
       static_cast<long long>(seen.own), static_cast<long long>(seen.before),
       static_cast<long long>(seen.after), static_cast<long long>(seen.own - seen.before),
       static_cast<long long>(seen.own - seen.after));
}

// From 6.13 on the kernel publishes an update in the page before its own seconds change, and the
// CPU that does so may be stopped in between. The system call time() takes the seconds without a
// look at the kernel's sequence count, where every other clock waits for the end of the update
// (kernel/time/timekeeping.c). So time() then shows the next second early, through the vDSO as
// through us. So much is allowed, and seldom: the system call must come to exactly that value at
// once.
inline std::atomic<int> updates_seen_early{0};

inline bool comes_next(const Call& call, const Bracket& seen) {
  constexpr int kAtOnce = 20'000;  // system calls: some milliseconds
  std::int64_t next = seen.after;
  for (int i = 0; i < kAtOnce && next == seen.after; ++i) {
    next = call.kernel();
  }
  return seen.own > seen.after && next == seen.own;
}

inline bool is_next_update(const Call& call, const Bracket& seen) {
  constexpr int kSeldom = 3;
  return comes_next(call, seen) && ++updates_seen_early <= kSeldom;
}

// `where` opens the message.
inline void expect_holds(const char* where, const Call& call, const Bracket& seen,
                         const WallClockWatch& watch) {
  if (!seen.holds() && !(call.settable && watch.was_set()) &&
      !(call.kernel == kernel_time && is_next_update(call, seen))) {
    fail_bracket(where, call, seen);
  }
}

inline void expect_not_back(const char* where, const Call& call, std::int64_t last,
                            std::int64_t now, const WallClockWatch& watch) {
  expect(now >= last || (call.settable && watch.was_set()),
         "%s%s went back from %lld to %lld (%lld)", where, call.name, static_cast<long long>(last),
         static_cast<long long>(now), static_cast<long long>(now - last));
}

// `count` own reads in a row, one system call between each two.
inline void expect_bracketed(const char* where, const Call& call, long count) {
  const WallClockWatch watch;
  std::int64_t before = call.kernel();
  for (long i = 0; i < count; ++i) {
    const std::int64_t own = call.own();
    const std::int64_t after = call.kernel();
    const Bracket seen{before, own, after};
    expect_holds(where, call, seen, watch);
    before = after;
  }
}

inline void expect_all_bracketed(const char* where, long count) {
  for (const Call& call : kCalls) {
    expect_bracketed(where, call, count);
  }
}

}  // namespace vvarclock::process
