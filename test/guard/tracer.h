// Steps through a traced child, instruction by instruction, and counts.
//
// The child stops itself once, then goes from one breakpoint instruction to the next. rdtscp is
// carried out here in the child's place, so that it may be stepped over on a CPU without it.
// Depends on test/support/process.h.
#pragma once

#include <sys/ptrace.h>
#include <sys/user.h>

#include <csignal>
#include <cstdint>

#include "arch/x86/rdtsc.h"
#include "test/support/process.h"

namespace vvarclock::process {

inline constexpr long kMostSteps = 100'000;

class Tracer {
 public:
  explicit Tracer(pid_t child) : child_(child) {}

  void run_to_marker() const { go_on(PTRACE_CONT); }

  // From the marker through the next call of the function.
  [[nodiscard]] long steps_of(const void* function) const {
    user_regs_struct registers = registers_now();
    long before = 0;
    while (registers.rip != reinterpret_cast<std::uintptr_t>(function)) {
      expect(++before < kMostSteps, "the function was not called");
      registers = step(registers);
    }
    const auto back = static_cast<unsigned long long>(word_at(registers.rsp));
    const unsigned long long stack = registers.rsp;
    long steps = 0;
    while (registers.rip != back || registers.rsp <= stack) {
      expect(++steps < kMostSteps, "the function did not return");
      registers = step(registers);
    }
    return steps;
  }

  void expect_end() const {
    expect(ptrace(PTRACE_CONT, child_, nullptr, nullptr) == 0, "ptrace: %s", std::strerror(errno));
    expect_passed(wait_for(child_), "stepped child");
  }

 private:
  [[nodiscard]] user_regs_struct step(user_regs_struct registers) const {
    constexpr long kRdtscp = 0xf9010f;
    if ((word_at(registers.rip) & 0xffffff) == kRdtscp) {
      const std::uint64_t counter = arch::LfenceTsc::read();
      registers.rax = counter & 0xffffffff;
      registers.rdx = counter >> 32;
      registers.rcx = 0;
      registers.rip += 3;
      expect(ptrace(PTRACE_SETREGS, child_, nullptr, &registers) == 0, "ptrace: %s",
             std::strerror(errno));
      return registers;
    }
    go_on(PTRACE_SINGLESTEP);
    return registers_now();
  }

  [[nodiscard]] user_regs_struct registers_now() const {
    user_regs_struct registers{};
    expect(ptrace(PTRACE_GETREGS, child_, nullptr, &registers) == 0, "ptrace: %s",
           std::strerror(errno));
    return registers;
  }

  [[nodiscard]] long word_at(unsigned long long at) const {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, child_, at, nullptr);
    expect(errno == 0, "memory at %llx: %s", at, std::strerror(errno));
    return word;
  }

  void go_on(__ptrace_request how) const {
    expect(ptrace(how, child_, nullptr, nullptr) == 0, "ptrace: %s", std::strerror(errno));
    const int status = wait_for(child_);
    expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "stepped child: status %x",
           static_cast<unsigned>(status));
  }

  pid_t child_;
};

}  // namespace vvarclock::process
