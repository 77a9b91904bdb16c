// Steps through a traced child, instruction by instruction, and counts.
//
// The child stops itself once, then goes from one breakpoint instruction to the next. rdtscp is
// carried out here in the child's place, so that it may be stepped over on a CPU without it.
// Depends on test/support/process.h.
#pragma once

#include <sys/ptrace.h>

#include <csignal>
#include <cstdint>

#include "arch/x86/rdtsc.h"
#include "test/support/process.h"
#include "test/support/registers.h"

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
    while (static_cast<std::uintptr_t>(instruction_of(registers)) !=
           reinterpret_cast<std::uintptr_t>(function)) {
      expect(++before < kMostSteps, "the function was not called");
      registers = step(registers);
    }
    const auto back = static_cast<RegisterWord>(word_at(stack_of(registers)));
    const RegisterWord stack = stack_of(registers);
    long steps = 0;
    while (instruction_of(registers) != back || stack_of(registers) <= stack) {
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
    if ((word_at(instruction_of(registers)) & 0xffffff) == kRdtscp) {
      const std::uint64_t counter = arch::LfenceTsc::read();
      a_of(registers) = static_cast<RegisterWord>(counter & 0xffffffff);
      d_of(registers) = static_cast<RegisterWord>(counter >> 32);
      c_of(registers) = 0;
      instruction_of(registers) += 3;
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

  [[nodiscard]] long word_at(RegisterWord at) const {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, child_, at, nullptr);
    expect(errno == 0, "memory at %lx: %s", static_cast<unsigned long>(at), std::strerror(errno));
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
