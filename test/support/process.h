// What every whole-process check shares: how it passes, fails and skips, how it treats child
// processes, and the proof that it runs under the library at all.
//
// Exit status 0 is a pass, 77 a skip with its reason on standard output, everything else a failure
// with a message on standard error. Messages go out by write(2), so that they may come from signal
// handlers, from vfork children and from constructors. Nothing here calls a clock function. Depends
// on libc and on arch/ only; may be included by programs and by shared libraries that the programs
// load.
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "arch/x86/cpu.h"

extern char** environ;

namespace vvarclock::process {

inline constexpr int kFailStatus = 1;
inline constexpr int kSkipStatus = 77;

inline void write_line(int descriptor, const char* kind, const char* format, va_list arguments) {
  std::array<char, 512> text{};
  const int head = std::snprintf(text.data(), text.size(), "%s", kind);
  const auto used = static_cast<std::size_t>(head);
  std::vsnprintf(text.data() + used, text.size() - used - 1, format, arguments);
  const std::size_t length = std::strlen(text.data());
  text[length] = '\n';
  if (write(descriptor, text.data(), length + 1) < 0) {
    _exit(kFailStatus);
  }
}

[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(STDERR_FILENO, "FAIL: ", format, arguments);
  va_end(arguments);
  _exit(kFailStatus);
}

[[noreturn, gnu::format(printf, 1, 2)]] inline void skip(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(STDOUT_FILENO, "skipped: ", format, arguments);
  va_end(arguments);
  _exit(kSkipStatus);
}

// A line for the log of a test that goes on.
[[gnu::format(printf, 1, 2)]] inline void note(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(STDOUT_FILENO, "", format, arguments);
  va_end(arguments);
}

[[gnu::format(printf, 2, 3)]] inline void expect(bool holds, const char* format, ...) {
  if (holds) {
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  write_line(STDERR_FILENO, "FAIL: ", format, arguments);
  va_end(arguments);
  _exit(kFailStatus);
}

inline const char* environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

// The object that must hold the clock functions. VVARCLOCK_TEST_LIBRARY=libc.so.6 runs a test on
// plain libc, and the proof that tests can fail names its wrong library there.
inline const char* expected_library() {
  return environment("VVARCLOCK_TEST_LIBRARY", "libvvarclock.so");
}

inline bool is_plain_libc() { return std::string_view(expected_library()).starts_with("libc.so"); }

inline std::string_view base_name(const char* path) {
  const std::string_view whole(path);
  return whole.substr(whole.rfind('/') + 1);
}

// Where the program's calls of a function end up. A sanitizer stands in between, in the program
// itself, and passes them on.
inline const void* where_calls_go(const char* function, const void* address) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static_cast<void>(address);
  return dlsym(RTLD_NEXT, function);
#else
  static_cast<void>(function);
  return address;
#endif
}

inline void require_from_library(const char* function, const void* address) {
  Dl_info info{};
  expect(dladdr(address, &info) != 0 && info.dli_fname != nullptr, "%s is in no loaded object",
         function);
  // libc hands out the vDSO's own gettimeofday and time.
  const bool is_vdso = is_plain_libc() && base_name(info.dli_fname).starts_with("linux-vdso.");
  expect(is_vdso || base_name(info.dli_fname) == expected_library(),
         "%s is in %s, not in %s: the test proves nothing", function, info.dli_fname,
         expected_library());
}

// Every clock function of this process comes from the library.
inline void require_library() {
  const auto require = [](const char* function, const void* address) {
    require_from_library(function, where_calls_go(function, address));
  };
  require("clock_gettime", reinterpret_cast<const void*>(&::clock_gettime));
  require("gettimeofday", reinterpret_cast<const void*>(&::gettimeofday));
  require("time", reinterpret_cast<const void*>(&::time));
  require("clock_getres", reinterpret_cast<const void*>(&::clock_getres));
  require("timespec_get", reinterpret_cast<const void*>(&::timespec_get));
}

// The order that this run asks for, as the environment names it.
inline std::string_view order() { return environment("VVARCLOCK_ORDER", "ordered"); }
inline bool is_unordered() { return order() == "unordered"; }

// First line of every main: the proof, and no run in the name of an order that the CPU does not
// have.
inline void begin() {
  require_library();
  if (order() == "rdtscp" && !arch::has_rdtscp()) {
    skip("CPUID grants no rdtscp, so the order rdtscp would be lfence again");
  }
}

// How often: the first argument, else many when the whole suite is wanted, else few.
inline long repetitions(int argc, char** argv, long few, long many) {
  if (argc > 1) {
    return std::atol(argv[1]);
  }
  return *environment("VVARCLOCK_TEST_FULL", "") == '1' ? many : few;
}

// libc's own function, whatever stands before it. Null when this libc has none of that name.
template <class Function>
Function* libc_function(const char* name) {
  void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  expect(libc != nullptr, "libc.so.6 is not loaded");
  return reinterpret_cast<Function*>(dlsym(libc, name));
}

inline void no_core_dumps() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

inline int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    expect(errno == EINTR, "waitpid: %s", std::strerror(errno));
  }
  return status;
}

// Runs `body` in a forked child, which ends by its own checks or with status 0. Returns the status
// for waitpid's macros.
template <class Body>
int run_in_child(Body body) {
  const pid_t child = fork();
  expect(child >= 0, "fork: %s", std::strerror(errno));
  if (child == 0) {
    body();
    _exit(0);
  }
  return wait_for(child);
}

// Replaces the process by a new run of the same program.
[[noreturn]] inline void run_again(const char* task) {
  std::array<char*, 3> arguments{program_invocation_name, const_cast<char*>(task), nullptr};
  execve("/proc/self/exe", arguments.data(), environ);
  fail("execve: %s", std::strerror(errno));
}

// A child that failed has said why; one that was killed could not.
inline void expect_passed(int status, const char* what) {
  expect(WIFEXITED(status), "%s: killed by signal %d (%s)", what, WTERMSIG(status),
         strsignal(WTERMSIG(status)));
  expect(WEXITSTATUS(status) == 0, "%s: exit status %d", what, WEXITSTATUS(status));
}

// The CPUs that this thread may run on.
inline std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  expect(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity: %s",
         std::strerror(errno));
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

// Moves a thread (0: the caller) onto one CPU.
inline void pin(int cpu, pid_t thread = 0) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  expect(sched_setaffinity(thread, sizeof set, &set) == 0, "sched_setaffinity to CPU %d: %s", cpu,
         std::strerror(errno));
}

}  // namespace vvarclock::process
