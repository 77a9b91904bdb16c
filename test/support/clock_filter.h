// A seccomp filter that ends the process at any clock system call, as sandboxes do.
//
// Once installed there is no way back, so it belongs into a child process. Also answers the
// question that decides which tests can be asked: does the kernel's own vDSO do without the system
// call here, that is, is there a clock mode? Depends on test/support/process.h.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstddef>

#include "test/support/process.h"

namespace vvarclock::process {

#ifdef __x86_64__
inline constexpr unsigned kOwnSystemCalls = AUDIT_ARCH_X86_64;
inline constexpr std::array<unsigned, 4> kClockCalls{SYS_clock_gettime, SYS_gettimeofday, SYS_time,
                                                     SYS_clock_getres};
#else
inline constexpr unsigned kOwnSystemCalls = AUDIT_ARCH_I386;
inline constexpr std::array<unsigned, 6> kClockCalls{SYS_clock_gettime, SYS_clock_gettime64,
                                                     SYS_gettimeofday,  SYS_time,
                                                     SYS_clock_getres,  SYS_clock_getres_time64};
#endif

// The system calls of another width end the process too. False, and errno: the kernel or this
// container refused.
inline bool forbid_clock_calls() {
  constexpr auto kNumber = static_cast<unsigned>(offsetof(seccomp_data, nr));
  constexpr auto kArch = static_cast<unsigned>(offsetof(seccomp_data, arch));
  constexpr unsigned char kCalls = kClockCalls.size();
  std::array<sock_filter, kCalls + 5> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnSystemCalls, 0, kCalls + 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
  }};
  for (unsigned char i = 0; i < kCalls; ++i) {
    const auto to_the_end = static_cast<unsigned char>(kCalls - i);
    program[3U + i] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kClockCalls[i], to_the_end, 0);
  }
  program[kCalls + 3] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[kCalls + 4] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  const sock_fprog filter{program.size(), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Runs `body` in a child process behind the filter. Returns the status for waitpid's macros.
template <class Body>
int run_behind_filter(Body body) {
  return run_in_child([&body] {
    no_core_dumps();
    expect(forbid_clock_calls(), "seccomp: %s", std::strerror(errno));
    body();
  });
}

inline bool was_killed_by_filter(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

inline bool has_filters() {
  const int status = run_in_child([] { _exit(forbid_clock_calls() ? 0 : kSkipStatus); });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipStatus) {
    return false;
  }
  expect_passed(status, "a process behind the filter");
  return true;
}

inline void require_filters() {
  if (!has_filters()) {
    skip("this system has no seccomp filters");
  }
}

// Does the kernel's vDSO read the high-resolution clocks by itself now? Asked through libc, past
// the library. False too, with a note, where there are no filters to ask with.
inline bool kernel_serves_by_itself() {
  if (!has_filters()) {
    note("no seccomp filters: as if the clock mode were none");
    return false;
  }
  using ClockGettime = int(clockid_t, timespec*);
  auto* const libc_gettime = libc_function<ClockGettime>("clock_gettime");
  const int status = run_behind_filter([libc_gettime] {
    timespec now{};
    _exit(libc_gettime(CLOCK_MONOTONIC, &now));
  });
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline constexpr const char* kNoClockMode =
    "the kernel's own vDSO asks by system call here (clock mode none): no high-resolution clock "
    "can be served";

}  // namespace vvarclock::process
