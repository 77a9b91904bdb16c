// Inside a real kernel: every clock, read between two system calls, for some seconds, on every CPU
// at once.
//
//   guest_check --seconds N [--namespace none|fork|exec|forbidden|far]
//
// none: the process as it is. fork: a time namespace entered by unshare and fork, without exec, and
// the parent that stayed outside. exec: a new program started inside the namespace, so that the
// library attaches there. forbidden: no namespace, but a process to which the time-stamp counter is
// forbidden after the library has attached (prctl PR_SET_TSC: reading it is death); the clocks that
// do not need it go on. Not earlier: the loader reads the counter itself. far: no namespace, but
// the machine's clock set beyond 2038, which 32-bit seconds cannot hold, and back. The order is the
// library's own variable. Prints one result line per process, for the harness; exit status 1: a
// failure.
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/kernels/guest/checks.h"
#include "test/kernels/guest/clocks.h"
#include "test/kernels/guest/result.h"
#include "test/kernels/guest/served.h"
#include "test/kernels/guest/time_namespace.h"

namespace guest {
namespace {

using vvarclock::vvar::kCoarseIds;

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
  expect_library(run.result);
  const bool inside = in_unshared_time();
  if (inside != (std::strcmp(where, "fork") == 0 || std::strcmp(where, "exec") == 0)) {
    run.result.fail("this process is %s the time namespace", inside ? "in" : "outside");
  }
  const std::vector<std::string> served = served_without_syscall(run.result);
  check_resolutions(run);
  check_zone(run);
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
  check_resolutions(run);
  const Nanoseconds end = by_syscall(CLOCK_MONOTONIC_RAW) + length;
  do {
    check_clocks(run, kCoarseIds);
    check_time(run);
  } while (by_syscall(CLOCK_MONOTONIC_RAW) < end);
  run.result.print("check", order_name(), "forbidden", run.brackets, served);
  return run.result.failures() == 0 ? 0 : 1;
}

bool set_wall_clock(Nanoseconds to) {
#ifdef __x86_64__
  constexpr long kClockSettime = SYS_clock_settime;
#else
  constexpr long kClockSettime = SYS_clock_settime64;
#endif
  const Pair<std::int64_t> time{to / kSecond, to % kSecond};
  return syscall(kClockSettime, CLOCK_REALTIME, &time) == 0;
}

int check_beyond_2038(Nanoseconds length) {
  constexpr Nanoseconds kIn2040 = 2'208'988'800 * kSecond;
  const Nanoseconds start = by_syscall(CLOCK_REALTIME) - by_syscall(CLOCK_MONOTONIC);
  if (!set_wall_clock(kIn2040)) {
    Result result;
    result.fail("the clock cannot be set: %s", std::strerror(errno));
    result.print("check", order_name(), "far", 0, {});
    return 1;
  }
  const int status = check_here(length, "far");
  return set_wall_clock(start + by_syscall(CLOCK_MONOTONIC)) ? status : 2;
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
  if (where == "far") {
    return check_beyond_2038(length);
  }
  return where == "forbidden" ? check_without_counter(length)
                              : check_in_namespace(length, where.c_str(), arguments);
}

}  // namespace
}  // namespace guest

int main(int count, char** arguments) { return guest::run(count, arguments); }
