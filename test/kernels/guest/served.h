// Which clocks are answered without a system call: proven by a child to which every clock call is
// forbidden.
//
// Depends on libc and a kernel with seccomp filters. Says nothing about the value that comes back.
#pragma once

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "test/kernels/guest/clocks.h"
#include "test/kernels/guest/result.h"

namespace guest {

using vvarclock::vvar::is_in;
using vvarclock::vvar::kServedIds;

inline constexpr int kForbiddenErrno = EXFULL;  // no clock call returns it by itself

// From now on clock_gettime, clock_getres, gettimeofday and time fail with kForbiddenErrno,
// whatever their seconds' width.
inline bool forbid_clock_syscalls() noexcept {
  constexpr std::array kNumbers{long{SYS_clock_gettime}, long{SYS_clock_getres},
                                long{SYS_gettimeofday},  long{SYS_time},
                                kClockGettime,           kClockGetres};
  std::array<sock_filter, kNumbers.size() + 3> program{};
  program[0] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t i = 0; i < kNumbers.size(); ++i) {
    program[i + 1] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(kNumbers[i]),
                              static_cast<std::uint8_t>(kNumbers.size() - i), 0);
  }
  program[kNumbers.size() + 1] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[kNumbers.size() + 2] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | kForbiddenErrno);
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Seconds that do not fit are an answer too.
template <class Calls>
bool is_answered(clockid_t id) noexcept {
  Pair<typename Calls::Seconds> t;
  return Calls::clock_gettime(id, &t) == 0 || errno == EOVERFLOW;
}

// In the child: bit i of the exit status says that clock i, of those in `ids`, came without a
// system call in every width. 0x80: the filter does not work.
[[noreturn]] inline void report_served_by_status(std::uint32_t ids) noexcept {
  if (!forbid_clock_syscalls() || by_syscall(CLOCK_REALTIME) != -1 || errno != kForbiddenErrno) {
    _exit(0x80);
  }
  int served = 0;
  for (std::size_t i = 0; i < kServedClocks.size(); ++i) {
    const std::uint32_t id = kServedClocks[i].id;
    bool answered = is_in(id, ids);
    for_each_width([&]<class Calls>(Calls) {
      answered = answered && is_answered<Calls>(static_cast<clockid_t>(id));
    });
    served |= answered ? 1 << i : 0;
  }
  _exit(served);
}

// The names of the clocks that are served without a system call in this process.
inline std::vector<std::string> served_without_syscall(Result& result,
                                                       std::uint32_t ids = kServedIds) {
  std::vector<std::string> names;
  const pid_t child = fork();
  if (child == 0) {
    report_served_by_status(ids);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
      WEXITSTATUS(status) == 0x80) {
    result.fail("no clock calls allowed: the child ended with wait status %d", status);
    return names;
  }
  for (std::size_t i = 0; i < kServedClocks.size(); ++i) {
    if ((WEXITSTATUS(status) >> i & 1) != 0) {
      names.emplace_back(kServedClocks[i].name);
    }
  }
  return names;
}

}  // namespace guest
