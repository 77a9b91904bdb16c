// Inside a real kernel: every clock read between two system calls while the clocks jump.
//
//   guest_jumps --seconds N [--namespace none|fork|late]
//
// none: the process as it is. fork: in a time namespace, entered by unshare and fork without exec.
// late: the library attaches while the clock mode is none, and the clock source changes afterwards.
// N: how long the clock source is switched. Sets the machine's clock: for a guest only. What is
// judged: guest/readers.h. A 32-bit one is compiled with 64-bit seconds: it goes beyond 2038.
// Prints one result line; exit status 1: a failure.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "test/kernels/guest/clocks.h"
#include "test/kernels/guest/readers.h"
#include "test/kernels/guest/result.h"
#include "test/kernels/guest/scenarios.h"
#include "test/kernels/guest/served.h"
#include "test/kernels/guest/time_namespace.h"

namespace guest {
namespace {

struct Scenario {
  const char* name;
  void (*run)(const Stage&);
};

constexpr Scenario kScenarios[] = {
    {"steps", step_wall_clock},
    {"slews", slew},
    {"TAI offset", change_tai_offset},
    {"leap second inserted", insert_leap_second},
    {"leap second deleted", delete_leap_second},
    {"gaps", lose_time_in_gaps},
    {"clock source switched", switch_clock_source},
    {"suspend", suspend},
};

int jump(Nanoseconds length, const char* where) {
  Result result;
  expect_library(result);
  if (!select_clock_source("tsc")) {
    result.fail("clock source tsc cannot be selected");
  }
  if (in_unshared_time() != (std::strcmp(where, "fork") == 0)) {
    result.fail("this process is on the wrong side of the time namespace");
  }
  const std::vector<std::string> served = served_without_syscall(result);
  Readers readers(result);
  const Stage stage{readers, result, length};
  for (const Scenario& scenario : kScenarios) {
    // So that a guest that hangs has said where.
    std::printf("begin %s\n", scenario.name);
    std::fflush(stdout);
    scenario.run(stage);
  }
  if (readers.kernel_steps_back() != 0) {
    result.note("the kernel's own answers stepped back " +
                std::to_string(readers.kernel_steps_back()) + " times");
  }
  result.print("jumps", order_name(), where, readers.brackets(), served);
  return result.failures() == 0 ? 0 : 1;
}

int jump_in_namespace(Nanoseconds length) {
  if (!unshare_time()) {
    std::perror("unshare");
    return 2;
  }
  const pid_t child = fork();
  if (child == 0) {
    const int status = jump(length, "fork");
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  const bool waited = child > 0 && waitpid(child, &status, 0) == child;
  return waited && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

// Starts this program anew while the page can serve no high-resolution clock.
int attach_late(char** arguments) {
  if (!select_clock_source("hpet")) {
    return 4;
  }
  setenv("GUEST_JUMPS_LATE", "1", 1);
  execv("/proc/self/exe", arguments);
  return 127;
}

int run(int count, char** arguments) {
  Nanoseconds length = 10 * kSecond;
  std::string_view where = "none";
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::string_view(arguments[i]) == "--seconds") {
      length = std::atoll(arguments[i + 1]) * kSecond;
    } else if (std::string_view(arguments[i]) == "--namespace") {
      where = arguments[i + 1];
    }
  }
  if (where == "fork") {
    return jump_in_namespace(length);
  }
  if (where == "late") {
    return std::getenv("GUEST_JUMPS_LATE") == nullptr ? attach_late(arguments)
                                                      : jump(length, "late");
  }
  return jump(length, "none");
}

}  // namespace
}  // namespace guest

int main(int count, char** arguments) { return guest::run(count, arguments); }
