// Guards against: touching the counter where the process may not read it, which ends the process.
//
// prctl(PR_SET_TSC, PR_TSC_SIGSEGV) after attach: coarse clocks, time and clock_getres need no
// counter and go on. Before attach: every clock goes on, the high-resolution ones by system call.
// Both through exec, as far as the C library's own loader survives that. A bare rdtsc shows whether
// the machine enforces the ban. Argument "every", "inherited" or "counter": what a re-executed run
// is to do.
#include <sys/prctl.h>

#include "arch/x86/rdtsc.h"
#include "test/support/clock_calls.h"
#include "test/support/clock_filter.h"

namespace vvarclock::process {
namespace {

constexpr long kReads = 2'000;
constexpr const char* kEarlyVariable = "VVARCLOCK_TEST_FORBID_EARLY";

void forbid_counter() {
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) {
    skip("this system cannot forbid the counter: %s", std::strerror(errno));
  }
}

// Runs before the constructor of any library, so before attach.
void forbid_early(int, char**, char** variables) {
  const std::size_t length = std::strlen(kEarlyVariable);
  for (; *variables != nullptr; ++variables) {
    if (std::strncmp(*variables, kEarlyVariable, length) == 0) {
      forbid_counter();
    }
  }
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const preinit)(int, char**,
                                                                    char**) = &forbid_early;

// Some virtual machines take the ban and let the instruction pass.
bool ban_is_enforced() {
  const int status = run_in_child([] {
    no_core_dumps();
    forbid_counter();
    static_cast<void>(arch::UnorderedTsc::read());
  });
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

void expect_counterless_calls(const char* where) {
  for (const Call& call : kCalls) {
    if (!call.needs_counter) {
      expect_bracketed(where, call, kReads);
    }
  }
  for (const clockid_t id : kServedIds) {
    timespec kernel{};
    timespec own{};
    arch::raw_clock_getres(id, &kernel);
    expect(::clock_getres(id, &own) == 0 && to_ns(own) == to_ns(kernel),
           "%sclock_getres(%d): %ld ns, not %ld", where, id, own.tv_nsec, kernel.tv_nsec);
  }
  timeval* volatile no_time = nullptr;
  struct timezone zone {};
  expect(::gettimeofday(no_time, &zone) == 0, "%sgettimeofday(NULL, &tz) failed", where);
}

void check_after_attach() {
  expect_passed(run_in_child([] {
                  forbid_counter();
                  expect_counterless_calls("counter forbidden after attach: ");
                  prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
                  expect_all_bracketed("counter allowed again: ", kReads);
                }),
                "counter forbidden after attach");
}

void check_before_attach() {
  const int status = run_in_child([] {
    setenv(kEarlyVariable, "1", 1);
    run_again("every");
  });
  expect_passed(status, "counter forbidden before attach");
}

// Whoever may not read the counter must ask. Shows also where the machine lets the instruction
// pass.
void expect_kernel_is_asked() {
  for (const Call& call : kCalls) {
    const int status = run_behind_filter([&call] { call.own(); });
    if (call.needs_counter) {
      expect(was_killed_by_filter(status),
             "counter forbidden before attach: %s did not ask the kernel", call.name);
    } else {
      expect_passed(status, call.name);
    }
  }
}

// Does a program come to its main at all when the ban stands before exec? Asked without the
// library.
bool loader_survives_ban() {
  const int status = run_in_child([] {
    no_core_dumps();
    unsetenv("LD_PRELOAD");
    forbid_counter();
    run_again("inherited");
  });
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) {
    note(
        "the ban outlives exec, and the C library's loader reads the counter before any library's "
        "code: no program starts");
    return false;
  }
  expect_passed(status, "inherited ban without the library");
  return true;
}

void check_through_exec() {
  if (!loader_survives_ban()) {
    return;
  }
  const int status = run_in_child([] {
    forbid_counter();
    run_again("every");
  });
  expect_passed(status, "counter forbidden before exec");
}

int run_task(std::string_view task) {
  if (task == "inherited") {
    int state = 0;
    prctl(PR_GET_TSC, &state, 0, 0, 0);
    note("the ban %s exec", state == PR_TSC_SIGSEGV ? "outlives" : "ends with");
    return 0;
  }
  begin();
  expect_all_bracketed("counter forbidden before attach: ", kReads);
  expect_counterless_calls("counter forbidden before attach: ");
  expect_kernel_is_asked();
  prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  expect_all_bracketed("counter allowed after attach: ", kReads);
  return 0;
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  if (argc > 1) {
    return run_task(argv[1]);
  }
  begin();
  require_filters();
  check_after_attach();
  if (!is_plain_libc()) {  // where the vDSO reads the counter, ban or no ban
    check_before_attach();
    check_through_exec();
  }
  if (!ban_is_enforced()) {
    skip(
        "every answer was right, but this machine lets rdtsc pass in spite of the ban, so a "
        "forbidden read would not show");
  }
  return 0;
}
