// Which functions of the library a program's start calls.
//
// Runs /bin/true under the library with a breakpoint at the beginning of each function, which goes
// when it is met. (Stepping would do no good: while a copy of the page is stepped through, the
// kernel updates the page.)
//
// Usage: start_functions LIBRARY OFFSET...: where functions begin in the library file, hexadecimal.
// Prints a line "called OFFSET" for each that was. Judges nothing: start_up_test.py does.
#include <sys/ptrace.h>

#include <cinttypes>
#include <csignal>
#include <map>
#include <string>

#include "test/support/maps.h"
#include "test/support/process.h"
#include "test/support/registers.h"

namespace vvarclock::process {
namespace {

constexpr long kBreakpoint = 0xcc;

[[noreturn]] void be_traced(const std::string& library) {
  std::string program = "/bin/true";
  std::string preload = "LD_PRELOAD=" + library;
  const std::array<char*, 2> arguments{program.data(), nullptr};
  const std::array<char*, 2> environment{preload.data(), nullptr};
  expect(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0, "ptrace: %s", std::strerror(errno));
  execve(program.c_str(), arguments.data(), environment.data());
  fail("%s: %s", program.c_str(), std::strerror(errno));
}

// Where the child has mapped the beginning of the library, executable; 0 while it has not.
std::uintptr_t base_of(const std::string& library, pid_t child) {
  for (const Mapping& mapping : mappings_of(std::to_string(child))) {
    if (mapping.name == library && mapping.executable && mapping.offset == 0) {
      return mapping.begin;
    }
  }
  return 0;
}

class Breakpoints {
 public:
  Breakpoints(pid_t child, std::uintptr_t base) : child_(child), base_(base) {}

  void set(std::uintptr_t offset) {
    const long word = word_at(base_ + offset);
    const auto [entry, is_new] = first_bytes_.try_emplace(offset, word & 0xff);
    if (is_new) {
      put(base_ + offset, (word & ~0xffL) | kBreakpoint);
    }
  }

  // The child has met one: which? Afterwards it goes on as if there had been none.
  std::uintptr_t take_away() {
    user_regs_struct registers{};
    expect(ptrace(PTRACE_GETREGS, child_, nullptr, &registers) == 0, "ptrace: %s",
           std::strerror(errno));
    const std::uintptr_t at = static_cast<std::uintptr_t>(instruction_of(registers)) - 1;
    const auto entry = first_bytes_.find(at - base_);
    expect(entry != first_bytes_.end(), "a breakpoint at %" PRIxPTR " is not ours", at);
    put(at, (word_at(at) & ~0xffL) | entry->second);
    instruction_of(registers) = static_cast<RegisterWord>(at);
    expect(ptrace(PTRACE_SETREGS, child_, nullptr, &registers) == 0, "ptrace: %s",
           std::strerror(errno));
    return at - base_;
  }

 private:
  [[nodiscard]] long word_at(std::uintptr_t address) const {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, child_, address, nullptr);
    expect(errno == 0, "memory at %" PRIxPTR ": %s", address, std::strerror(errno));
    return word;
  }
  void put(std::uintptr_t address, long word) const {
    expect(ptrace(PTRACE_POKETEXT, child_, address, word) == 0, "memory at %" PRIxPTR ": %s",
           address, std::strerror(errno));
  }

  pid_t child_;
  std::uintptr_t base_;
  std::map<std::uintptr_t, long> first_bytes_;
};

void go_on(__ptrace_request how, pid_t child) {
  expect(ptrace(how, child, nullptr, nullptr) == 0, "ptrace: %s", std::strerror(errno));
}

// From one system call to the next, until the loader has mapped the library.
std::uintptr_t run_until_mapped(const std::string& library, pid_t child) {
  for (;;) {
    go_on(PTRACE_SYSCALL, child);
    expect(WIFSTOPPED(wait_for(child)), "/bin/true ended without the library");
    if (const std::uintptr_t base = base_of(library, child); base != 0) {
      return base;
    }
  }
}

void run_to_end(pid_t child, Breakpoints& breakpoints) {
  for (;;) {
    go_on(PTRACE_CONT, child);
    const int status = wait_for(child);
    if (!WIFSTOPPED(status)) {
      expect_passed(status, "/bin/true");
      return;
    }
    expect(WSTOPSIG(status) == SIGTRAP, "/bin/true: signal %d", WSTOPSIG(status));
    note("called %" PRIxPTR, breakpoints.take_away());
  }
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  expect(argc > 2, "Usage: start_functions LIBRARY OFFSET...");
  const std::string library = argv[1];
  const pid_t child = fork();
  expect(child >= 0, "fork: %s", std::strerror(errno));
  if (child == 0) {
    be_traced(library);
  }
  if (!WIFSTOPPED(wait_for(child))) {
    skip("no process may be traced here");
  }
  Breakpoints breakpoints(child, run_until_mapped(library, child));
  for (int i = 2; i < argc; ++i) {
    breakpoints.set(std::strtoul(argv[i], nullptr, 16));
  }
  run_to_end(child, breakpoints);
  return 0;
}
