// A program that the other checks run: tells who answers the clocks here, or the state that its
// process came up with.
//
// "who": one line per call, "page" or "syscall", by reading each in a child process whose filter
// kills on the system call. "secure": whether the loader takes this for a set-user-ID program, and
// whose clock_gettime it is. "state": everything that a library could have touched while loading,
// one line per item, for comparing two runs; "with" or "without" says whether the library must be
// in.
#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "test/support/clock_calls.h"
#include "test/support/clock_filter.h"

namespace vvarclock::process {
namespace {

const int errno_at_start = errno;  // read by a constructor of the program, after the libraries'

void print_who() {
  for (const Call& call : kCalls) {
    const int status = run_behind_filter([&call] { call.own(); });
    if (!was_killed_by_filter(status)) {
      expect_passed(status, call.name);
    }
    note("%s: %s", call.name, was_killed_by_filter(status) ? "syscall" : "page");
  }
}

void print_secure() {
  Dl_info info{};
  expect(dladdr(reinterpret_cast<const void*>(&::clock_gettime), &info) != 0,
         "clock_gettime is in no loaded object");
  const std::string object(base_name(info.dli_fname));
  note("secure %lu, clock_gettime from %s", getauxval(AT_SECURE), object.c_str());
}

std::vector<int> open_descriptors() {
  std::vector<int> numbers;
  for (int number = 0; number < 4096; ++number) {
    if (fcntl(number, F_GETFD) >= 0) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

void print_descriptors(int out, const std::vector<int>& numbers) {
  for (const int number : numbers) {
    struct stat status {};
    fstat(number, &status);
    dprintf(out, "descriptor %d: flags %x %x, file %lx:%lx, at %lld\n", number,
            static_cast<unsigned>(fcntl(number, F_GETFD)),
            static_cast<unsigned>(fcntl(number, F_GETFL)),
            static_cast<unsigned long>(status.st_dev), static_cast<unsigned long>(status.st_ino),
            static_cast<long long>(lseek(number, 0, SEEK_CUR)));
  }
}

void print_signals(int out) {
  sigset_t mask;
  sigset_t pending;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  sigpending(&pending);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0) {
      dprintf(out, "signal %d: handler %lx, flags %x, blocked %d, pending %d\n", number,
              reinterpret_cast<unsigned long>(action.sa_handler),
              static_cast<unsigned>(action.sa_flags), sigismember(&mask, number),
              sigismember(&pending, number));
    }
  }
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  dprintf(out, "signal stack: %p %d\n", stack.ss_sp, stack.ss_flags);
}

// What makes the library load is the difference between the runs, and is left out.
void print_environment(int out) {
  std::vector<std::string> lines;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0) {
      lines.emplace_back(*variable);
    }
  }
  for (const std::string& line : lines) {
    dprintf(out, "variable %s\n", line.c_str());
  }
}

void print_limits_and_modes(int out) {
  for (int resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
    dprintf(out, "limit %d: %llx %llx\n", resource, static_cast<unsigned long long>(limit.rlim_cur),
            static_cast<unsigned long long>(limit.rlim_max));
  }
  const mode_t mask = umask(022);
  unsigned short x87 = 0;
  unsigned mxcsr = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  dprintf(out, "umask %o, mxcsr %x, x87 %x, dumpable %d, no new privileges %d, errno %d\n", mask,
          mxcsr, x87, prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
          errno_at_start);
  for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval timer{};
    getitimer(which, &timer);
    dprintf(out, "timer %d: %ld %ld\n", static_cast<int>(which), timer.it_value.tv_sec,
            timer.it_value.tv_usec);
  }
  std::array<char, 64> name{};
  prctl(PR_GET_NAME, name.data());
  dprintf(out, "name %s, children %s\n", name.data(),
          waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? "none" : "some");
}

void print_threads(int out) {
  DIR* const tasks = opendir("/proc/self/task");
  int count = 0;
  while (tasks != nullptr && readdir(tasks) != nullptr) {
    ++count;
  }
  dprintf(out, "threads %d\n", count - 2);
}

int print_state(const char* path, bool with_library) {
  if (with_library) {
    require_library();
  }
  const std::vector<int> before = open_descriptors();
  const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  expect(out >= 0, "%s: %s", path, std::strerror(errno));
  dprintf(out, "descriptors at start: %zu, the next free one: %d\n", before.size(), out);
  print_descriptors(out, before);
  print_signals(out);
  print_environment(out);
  print_limits_and_modes(out);
  print_threads(out);
  return 0;
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  const std::string_view task = argc > 1 ? argv[1] : "";
  if (task == "who") {
    require_library();
    require_filters();
    print_who();
    return 0;
  }
  if (task == "secure") {
    print_secure();
    return 0;
  }
  if (task == "state" && argc == 4) {
    return print_state(argv[2], std::string_view(argv[3]) == "with");
  }
  fail("usage: process_probe who | secure | state FILE with|without");
}
