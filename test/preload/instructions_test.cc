// Guards against: a fence too many or too few, a counter read where none belongs, a system call
// that nobody noticed.
//
// A child makes one call after another while its parent steps through it instruction by instruction
// and looks at each. The order asked for shows in the code that runs, whatever the machine's timing
// hides: rdtsc behind lfence, rdtscp, or rdtsc with no fence at all; clocks that need no counter
// read none; no served clock reaches a syscall instruction.
#include <sys/ptrace.h>

#include <algorithm>
#include <csignal>
#include <initializer_list>

#include "test/support/clock_calls.h"
#include "test/support/clock_filter.h"
#include "test/support/registers.h"

namespace vvarclock::process {
namespace {

// Dozens of readings of the slowest clock. Stepped through, one reading can take longer than the
// kernel leaves between two page updates (emulated machines), so that each begins anew.
constexpr long kMostSteps = 4000;
constexpr int kRounds = 3;
constexpr int kSystemCallStop = SIGTRAP | 0x80;

struct Seen {
  long steps = 0;
  int rdtsc = 0;
  int rdtscp = 0;
  int lfence_before_rdtsc = 0;
  int fences = 0;  // lfence, mfence, cpuid
  int system_calls = 0;
};

bool starts_with(long word, std::initializer_list<unsigned char> bytes) {
  std::array<unsigned char, sizeof word> code;
  std::memcpy(code.data(), &word, sizeof word);
  return std::equal(bytes.begin(), bytes.end(), code.begin());
}

class Stepper {
 public:
  explicit Stepper(pid_t child) : child_(child) {}

  void tell_system_calls_apart() {
    expect(ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACESYSGOOD) == 0, "ptrace: %s",
           std::strerror(errno));
  }

  // Lets the child run to its next breakpoint instruction. False: it has ended, well.
  bool run_to_breakpoint() {
    const int status = resume(PTRACE_CONT);
    if (WIFEXITED(status)) {
      expect_passed(status, "stepped child");
      return false;
    }
    expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "stepped child: status %x",
           static_cast<unsigned>(status));
    return true;
  }

  // Steps up to the next breakpoint instruction, and over it. It must come.
  Seen step_to_breakpoint() {
    Seen seen;
    bool after_lfence = false;
    while (seen.steps < kMostSteps) {
      const long word = word_at_instruction();
      if (starts_with(word, {0xcc})) {
        expect(run_to_breakpoint(), "the child ended on a breakpoint");
        return seen;
      }
      count(word, after_lfence, seen);
      after_lfence = starts_with(word, {0x0f, 0xae, 0xe8});
      ++seen.steps;
      const int status = resume(PTRACE_SINGLESTEP);
      expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "stepped child: status %x",
             static_cast<unsigned>(status));
    }
    seen.system_calls += system_calls_to_breakpoint();
    return seen;
  }

 private:
  int system_calls_to_breakpoint() {
    int stops = 0;
    int status = resume(PTRACE_SYSCALL);
    for (; WIFSTOPPED(status) && WSTOPSIG(status) == kSystemCallStop; ++stops) {
      status = resume(PTRACE_SYSCALL);
    }
    expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "stepped child: status %x",
           static_cast<unsigned>(status));
    return (stops + 1) / 2;  // entry and exit
  }

  int resume(decltype(PTRACE_CONT) how) {
    expect(ptrace(how, child_, nullptr, nullptr) == 0, "ptrace: %s", std::strerror(errno));
    return wait_for(child_);
  }

  long word_at_instruction() const {
    user_regs_struct registers{};
    expect(ptrace(PTRACE_GETREGS, child_, nullptr, &registers) == 0, "ptrace: %s",
           std::strerror(errno));
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, child_, instruction_of(registers), nullptr);
    expect(errno == 0, "code at %lx: %s", static_cast<unsigned long>(instruction_of(registers)),
           std::strerror(errno));
    return word;
  }

  static void count(long word, bool after_lfence, Seen& seen) {
    if (starts_with(word, {0x0f, 0x31})) {
      ++seen.rdtsc;
      seen.lfence_before_rdtsc += after_lfence;
    }
    seen.rdtscp += starts_with(word, {0x0f, 0x01, 0xf9});
    seen.fences += starts_with(word, {0x0f, 0xae, 0xe8}) || starts_with(word, {0x0f, 0xae, 0xf0}) ||
                   starts_with(word, {0x0f, 0xa2});
    seen.system_calls += starts_with(word, {0x0f, 0x05}) || starts_with(word, {0x0f, 0x34}) ||
                         starts_with(word, {0xcd, 0x80});  // syscall, sysenter, int 0x80
  }

  pid_t child_;
};

// In this order, for child and parent: what needs no counter first.
std::vector<Call> calls_in_order() {
  std::vector<Call> calls(kCalls.begin(), kCalls.end());
  std::stable_partition(calls.begin(), calls.end(),
                        [](const Call& call) { return !call.needs_counter; });
  return calls;
}

// Each call once for the loader to bind it, then between two breakpoints.
[[noreturn]] void be_stepped(const std::vector<Call>& calls) {
  expect(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0, "ptrace: %s", std::strerror(errno));
  raise(SIGTRAP);
  for (const Call& call : calls) {
    call.own();
    for (int round = 0; round < kRounds; ++round) {
      asm volatile("int3" ::: "memory");
      call.own();
      asm volatile("int3" ::: "memory");
    }
  }
  _exit(0);
}

void expect_order(const char* name, const Seen& seen) {
  expect(seen.rdtsc + seen.rdtscp > 0, "%s: no counter was read", name);
  const bool rdtscp = order() == "rdtscp" || (order() == "ordered" && arch::has_rdtscp());
  if (is_unordered()) {
    expect(seen.fences == 0 && seen.rdtscp == 0, "%s, unordered: %d fences, %d rdtscp", name,
           seen.fences, seen.rdtscp);
  } else if (rdtscp) {
    expect(seen.rdtsc == 0, "%s, order %s: %d rdtsc beside rdtscp", name, order().data(),
           seen.rdtsc);
  } else {
    expect(seen.rdtscp == 0 && seen.lfence_before_rdtsc == seen.rdtsc,
           "%s, order %s: %d of %d rdtsc behind lfence", name, order().data(),
           seen.lfence_before_rdtsc, seen.rdtsc);
  }
}

void check(const Call& call, const Seen& seen, bool has_clock_mode) {
  if (!call.needs_counter) {
    expect(seen.rdtsc + seen.rdtscp == 0, "%s: the counter was read", call.name);
    expect(seen.system_calls == 0, "%s: a system call was made", call.name);
  } else if (has_clock_mode) {
    expect(seen.system_calls == 0, "%s: a system call was made", call.name);
    expect_order(call.name, seen);
  }
}

}  // namespace
}  // namespace vvarclock::process

int main() {
  using namespace vvarclock::process;
  begin();
  const bool has_clock_mode = kernel_serves_by_itself();
  const std::vector<Call> calls = calls_in_order();
  pin(allowed_cpus().front());  // each step hands over between the two
  const pid_t child = fork();
  expect(child >= 0, "fork: %s", std::strerror(errno));
  if (child == 0) {
    be_stepped(calls);
  }
  const int status = wait_for(child);
  if (!WIFSTOPPED(status)) {
    skip("no process may be traced here");
  }
  Stepper stepper(child);
  stepper.tell_system_calls_apart();
  for (const Call& call : calls) {
    long fewest = kMostSteps;
    for (int round = 0; round < kRounds; ++round) {
      expect(stepper.run_to_breakpoint(), "%s: the child ended too soon", call.name);
      const Seen seen = stepper.step_to_breakpoint();
      check(call, seen, has_clock_mode);
      fewest = std::min(fewest, seen.steps);
    }
    if (fewest < kMostSteps) {
      note("%s: %ld instructions", call.name, fewest);
    } else {
      note("%s: each page update came before a reading was stepped through", call.name);
    }
  }
  expect(!stepper.run_to_breakpoint(), "the child made more calls than expected");
  if (!has_clock_mode) {
    skip("the rest passed, but %s", kNoClockMode);
  }
  return 0;
}
