// Inside a real kernel: every clock, read between two system calls, for some seconds, on every CPU
// at once.
//
//   guest_check --seconds N [--namespace none|fork|exec|forbidden]
//
// none: the process as it is. fork: a time namespace entered by unshare and fork, without exec, and
// the parent that stayed outside. exec: a new program started inside the namespace, so that the
// library attaches there. forbidden: no namespace, but a process to which the time-stamp counter is
// forbidden after the library has attached (prctl PR_SET_TSC: reading it is death); the clocks that
// do not need it go on. Not earlier: the loader reads the counter itself.
// The order is the library's own variable. Prints one result line per process, for the harness;
// exit status 1: a failure.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/kernels/guest/clocks.h"
#include "test/kernels/guest/result.h"
#include "test/kernels/guest/served.h"
#include "test/kernels/guest/time_namespace.h"

namespace guest {
namespace {

using vvarclock::vvar::kCoarseIds;

struct Run {
  Nanoseconds length;
  Result result;
  std::atomic<std::uint64_t> brackets{0};
  // Of MONOTONIC, over all threads: no ordered read may be below it.
  std::atomic<Nanoseconds> latest{0};
};

void check_clocks(Run& run, std::uint32_t ids) {
  for (const auto& clock : kServedClocks) {
    if (!is_in(clock.id, ids)) {
      continue;
    }
    const Bracket b = bracket(static_cast<clockid_t>(clock.id));
    run.brackets.fetch_add(1, std::memory_order_relaxed);
    if (!b.holds() || b.before < 0) {
      run.result.fail("%s %lld outside [%lld, %lld]", clock.name, static_cast<long long>(b.value),
                      static_cast<long long>(b.before), static_cast<long long>(b.after));
    }
  }
}

// Against the coarse clock, not against the system call time: that one takes its second without
// waiting for an update under way (ktime_get_real_seconds, 64-bit), and an update writes the page
// before the kernel's own state, so it may be a moment behind. The coarse clock's system call
// waits.
void check_time(Run& run) {
  run.brackets.fetch_add(1, std::memory_order_relaxed);
  const Nanoseconds coarse_before = by_syscall(CLOCK_REALTIME_COARSE) / kSecond;
  const time_t seconds = time(nullptr);
  const Nanoseconds coarse_after = by_syscall(CLOCK_REALTIME_COARSE) / kSecond;
  if (seconds < coarse_before || seconds > coarse_after) {
    run.result.fail("time %lld outside [%lld, %lld]", static_cast<long long>(seconds),
                    static_cast<long long>(coarse_before), static_cast<long long>(coarse_after));
  }
}

// gettimeofday and timespec_get, with the units that they lose.
void check_other_calls(Run& run) {
  const Nanoseconds before = by_syscall(CLOCK_REALTIME);
  timeval micro{};
  timespec base{};
  const bool answered =
      gettimeofday(&micro, nullptr) == 0 && timespec_get(&base, TIME_UTC) == TIME_UTC;
  const Nanoseconds after = by_syscall(CLOCK_REALTIME);
  const Nanoseconds day = micro.tv_sec * kSecond + micro.tv_usec * 1000;
  run.brackets.fetch_add(2, std::memory_order_relaxed);
  if (!answered || day < before / 1000 * 1000 || day > after) {
    run.result.fail("gettimeofday %lld outside [%lld, %lld]", static_cast<long long>(day),
                    static_cast<long long>(before), static_cast<long long>(after));
  }
  if (!answered || in_ns(base) < before || in_ns(base) > after) {
    run.result.fail("timespec_get %lld outside [%lld, %lld]", static_cast<long long>(in_ns(base)),
                    static_cast<long long>(before), static_cast<long long>(after));
  }
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
    check_other_calls(run);
    for (int i = 0; i < 16; ++i) {
      check_hand_over(run, own_latest);
    }
  } while (by_syscall(CLOCK_MONOTONIC_RAW) < end);
}

void check_resolutions(Result& result) {
  for (const auto& clock : kServedClocks) {
    timespec ours{-1, -1};
    timespec kernels{-2, -2};
    const auto id = static_cast<clockid_t>(clock.id);
    const int status = clock_getres(id, &ours);
    if (status != 0 || syscall(SYS_clock_getres, id, &kernels) != 0 ||
        in_ns(ours) != in_ns(kernels)) {
      result.fail("%s: resolution %lld ns, the kernel says %lld ns", clock.name,
                  static_cast<long long>(in_ns(ours)), static_cast<long long>(in_ns(kernels)));
    }
  }
}

// A process that has unshared its time may not start threads (clone with CLONE_VM fails until it is
// left), so the parent goes from CPU to CPU.
void check_on_every_cpu(Run& run, bool at_once) {
  std::vector<std::thread> threads;
  for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); ++cpu) {
    if (at_once) {
      threads.emplace_back([&run, cpu] { check_on_cpu(run, cpu); });
    } else {
      check_on_cpu(run, cpu);
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// All checks in this process; where: what the result line calls this process.
int check_here(Nanoseconds length, const char* where) {
  Run run{length, {}, {}, {}};
  if (!library_is_loaded()) {
    run.result.fail("clock_gettime is answered by %s", clock_gettime_object());
  }
  const bool inside = in_unshared_time();
  if (inside != (std::strcmp(where, "fork") == 0 || std::strcmp(where, "exec") == 0)) {
    run.result.fail("this process is %s the time namespace", inside ? "in" : "outside");
  }
  const std::vector<std::string> served = served_without_syscall(run.result);
  check_resolutions(run.result);
  check_on_every_cpu(run, std::strcmp(where, "parent") != 0);
  run.result.print("check", order_name(), where, run.brackets, served);
  return run.result.failures() == 0 ? 0 : 1;
}

int failed_to_enter(const char* where) {
  Result result;
  result.fail("cannot enter a time namespace: %s", std::strerror(errno));
  result.print("check", order_name(), where, 0, {});
  return 1;
}

// A child in the namespace, by fork alone or with exec of this program; then the parent, which is
// not in it.
int check_in_namespace(Nanoseconds length, const char* where, char** arguments) {
  if (!unshare_time()) {
    return failed_to_enter(where);
  }
  const pid_t child = fork();
  if (child == 0) {
    if (std::strcmp(where, "exec") == 0) {
      setenv("GUEST_CHECK_INSIDE", "1", 1);
      execv("/proc/self/exe", arguments);
      _exit(127);
    }
    const int status = check_here(length, where);
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
      WEXITSTATUS(status) > 1) {
    Result result;
    result.fail("the child in the namespace ended with wait status %d", status);
    result.print("check", order_name(), where, 0, {});
    return 1;
  }
  return check_here(length / 4, "parent") | WEXITSTATUS(status);
}

// Does reading the counter kill?
bool counter_kills() {
  const pid_t child = fork();
  if (child == 0) {
    __builtin_ia32_rdtsc();
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
         WTERMSIG(status) == SIGSEGV;
}

int check_without_counter(Nanoseconds length) {
  Run run{length, {}, {}, {}};
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0 || !counter_kills()) {
    run.result.fail("the counter cannot be forbidden");
  }
  const auto served = served_without_syscall(run.result, kCoarseIds);
  check_resolutions(run.result);
  const Nanoseconds end = by_syscall(CLOCK_MONOTONIC_RAW) + length;
  do {
    check_clocks(run, kCoarseIds);
    check_time(run);
  } while (by_syscall(CLOCK_MONOTONIC_RAW) < end);
  run.result.print("check", order_name(), "forbidden", run.brackets, served);
  return run.result.failures() == 0 ? 0 : 1;
}

int run(int count, char** arguments) {
  Nanoseconds length = kSecond;
  std::string where = "none";
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::string_view(arguments[i]) == "--seconds") {
      length = std::atoll(arguments[i + 1]) * kSecond;
    } else if (std::string_view(arguments[i]) == "--namespace") {
      where = arguments[i + 1];
    }
  }
  if (where == "none" || std::getenv("GUEST_CHECK_INSIDE") != nullptr) {
    return check_here(length, where.c_str());
  }
  return where == "forbidden" ? check_without_counter(length)
                              : check_in_namespace(length, where.c_str(), arguments);
}

}  // namespace
}  // namespace guest

int main(int count, char** arguments) { return guest::run(count, arguments); }
