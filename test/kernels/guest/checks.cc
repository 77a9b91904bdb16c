// The checks of one process: see checks.h.
#include "test/kernels/guest/checks.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <type_traits>

namespace guest {
namespace {

using vvarclock::vvar::is_in;
using vvarclock::vvar::kServedIds;

// One answer, and the kernel's before and after.
struct Answer {
  bool given;
  int error;
  Bracket b;

  template <class Seconds>
  [[nodiscard]] bool holds() const noexcept {
    return b.before >= 0 &&
           (given ? b.holds() : error == EOVERFLOW && !fits<Seconds>(b.after / kSecond));
  }
};

// One call between two system calls for the clock that it shows. unit: what it shows of that clock,
// in nanoseconds. read: puts the time into its argument, in nanoseconds; false: refused.
template <class Calls, class Read>
void check_call(Run& run, const char* what, clockid_t id, Nanoseconds unit, Read&& read) {
  Answer answer{};
  answer.b.before = by_syscall(id) / unit * unit;
  errno = 0;
  answer.given = read(answer.b.value);
  answer.error = errno;
  answer.b.after = by_syscall(id);
  run.brackets.fetch_add(1, std::memory_order_relaxed);
  if (!answer.template holds<typename Calls::Seconds>()) {
    run.result.fail("%s%s %lld%s outside [%lld, %lld]", what, Calls::kName,
                    static_cast<long long>(answer.b.value), answer.given ? "" : " (refused)",
                    static_cast<long long>(answer.b.before),
                    static_cast<long long>(answer.b.after));
  }
}

template <class Calls>
void check_clock(Run& run, const vvarclock::vvar::NamedClock& clock) {
  const auto id = static_cast<clockid_t>(clock.id);
  check_call<Calls>(run, clock.name, id, 1, [id](Nanoseconds& value) {
    Pair<typename Calls::Seconds> t;
    const bool given = Calls::clock_gettime(id, &t) == 0;
    value = in_ns(t);
    return given;
  });
}

template <class Calls>
void check_timespec_get(Run& run) {
  check_call<Calls>(run, "timespec_get", CLOCK_REALTIME, 1, [](Nanoseconds& value) {
    Pair<typename Calls::Seconds> t;
    const bool given = Calls::timespec_get(&t, TIME_UTC) == TIME_UTC;
    value = in_ns(t);
    return given;
  });
}

template <class Calls>
void check_gettimeofday(Run& run) {
  check_call<Calls>(run, "gettimeofday", CLOCK_REALTIME, 1000, [](Nanoseconds& value) {
    Pair<typename Calls::Seconds> t;
    const bool given = Calls::gettimeofday(&t, nullptr) == 0;
    value = t.sec * kSecond + t.sub * Nanoseconds{1000};
    return given;
  });
}

// Against the coarse clock, not against the system call time: that one takes its second without
// waiting for an update under way (ktime_get_real_seconds, 64-bit), and an update writes the page
// before the kernel's own state, so it may be a moment behind. The coarse clock's system call
// waits.
template <class Calls>
void check_time_of(Run& run) {
  check_call<Calls>(run, "time", CLOCK_REALTIME_COARSE, kSecond, [](Nanoseconds& value) {
    typename Calls::Seconds stored = 0;
    const auto returned = Calls::time(&stored);
    value = stored == returned ? returned * kSecond : -1;
    return returned != -1;
  });
}

// A stamp taken by another thread before this read began must not be later than this read.
void check_hand_over(Run& run, Nanoseconds& own_latest) {
  const Nanoseconds seen =
      order_is_ordered() ? run.latest.load(std::memory_order_acquire) : own_latest;
  const Nanoseconds now = by_call(CLOCK_MONOTONIC);
  if (now < seen) {
    run.result.fail("CLOCK_MONOTONIC stepped back by %lld ns %s",
                    static_cast<long long>(seen - now),
                    order_is_ordered() ? "between threads" : "in one thread");
  }
  own_latest = now;
  Nanoseconds latest = run.latest.load(std::memory_order_relaxed);
  while (latest < now &&
         !run.latest.compare_exchange_weak(latest, now, std::memory_order_release)) {
  }
}

template <class Calls>
void check_zone_of(Run& run) {
  struct timezone ours {
    77, 78
  };
  struct timezone wanted {};
  const bool filled_with_zeros = kTwoWidths && std::is_same_v<Calls, WideCalls>;
  if ((!filled_with_zeros && syscall(SYS_gettimeofday, nullptr, &wanted) != 0) ||
      Calls::gettimeofday(nullptr, &ours) != 0 || ours.tz_minuteswest != wanted.tz_minuteswest ||
      ours.tz_dsttime != wanted.tz_dsttime) {
    run.result.fail("gettimeofday%s: zone %d %d, not %d %d", Calls::kName, ours.tz_minuteswest,
                    ours.tz_dsttime, wanted.tz_minuteswest, wanted.tz_dsttime);
  }
}

}  // namespace

void check_clocks(Run& run, std::uint32_t ids) {
  for (const auto& clock : kServedClocks) {
    if (is_in(clock.id, ids)) {
      for_each_width([&]<class Calls>(Calls) { check_clock<Calls>(run, clock); });
    }
  }
}

void check_time(Run& run) {
  for_each_width([&]<class Calls>(Calls) { check_time_of<Calls>(run); });
}

void check_on_cpu(Run& run, unsigned cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (sched_setaffinity(0, sizeof only, &only) != 0) {
    run.result.fail("cannot run on CPU %u", cpu);
  }
  const Nanoseconds end = by_syscall(CLOCK_MONOTONIC_RAW) + run.length;
  Nanoseconds own_latest = 0;
  do {
    check_clocks(run, kServedIds);
    check_time(run);
    for_each_width([&]<class Calls>(Calls) {
      check_gettimeofday<Calls>(run);
      check_timespec_get<Calls>(run);
    });
    for (int i = 0; i < 16; ++i) {
      check_hand_over(run, own_latest);
    }
  } while (by_syscall(CLOCK_MONOTONIC_RAW) < end);
}

void check_resolutions(Run& run) {
  for (const auto& clock : kServedClocks) {
    for_each_width([&]<class Calls>(Calls) {
      const auto id = static_cast<clockid_t>(clock.id);
      Pair<typename Calls::Seconds> ours{-1, -1};
      Pair<std::int64_t> kernels{-2, -2};
      if (Calls::clock_getres(id, &ours) != 0 || kernel_clock_getres(id, kernels) != 0 ||
          in_ns(ours) != in_ns(kernels)) {
        run.result.fail("%s%s: resolution %lld ns, the kernel says %lld ns", clock.name,
                        Calls::kName, static_cast<long long>(in_ns(ours)),
                        static_cast<long long>(in_ns(kernels)));
      }
    });
  }
}

void check_zone(Run& run) {
  // Not all zeros, and no minutes: the first zone that has some moves the clock.
  const struct timezone marked { 0, 1 };
  if (syscall(SYS_settimeofday, nullptr, &marked) != 0) {
    run.result.fail("the time zone cannot be set: errno %d", errno);
  }
  for_each_width([&]<class Calls>(Calls) { check_zone_of<Calls>(run); });
}

}  // namespace guest
