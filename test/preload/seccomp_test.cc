// Guards against: a system call on the way of a served clock. Programs forbid them, and the kernel
// ends who makes one.
//
// Each served id and each function is the very first clock call of a process whose filter kills on
// all four system calls, and then a thousand more. That the filter works is shown by an id that
// only the kernel answers: the process dies.
#include <sys/mman.h>

#include "test/support/clock_calls.h"
#include "test/support/clock_filter.h"

namespace vvarclock::process {
namespace {

constexpr int kReads = 1000;

// One call, first and often, behind the filter; the value must lie between the system calls made
// before and after.
void check_call(const Call& call, std::int64_t* shared) {
  const WallClockWatch watch;
  const std::int64_t before = call.kernel();
  const int status = run_behind_filter([&call, shared] {
    for (int i = 0; i < kReads; ++i) {
      *shared = call.own();
    }
  });
  expect(!was_killed_by_filter(status), "%s: killed by the filter, so it made a system call",
         call.name);
  expect_passed(status, call.name);
  expect_holds("behind the filter: ", call, {before, *shared, call.kernel()}, watch);
}

void check_resolution(clockid_t id) {
  timespec kernel{};
  arch::raw_clock_getres(id, &kernel);
  const int status = run_behind_filter([id, kernel] {
    timespec own{};
    expect(::clock_getres(id, &own) == 0 && ::clock_getres(id, nullptr) == 0,
           "clock_getres(%d) failed", id);
    expect(to_ns(own) == to_ns(kernel), "clock_getres(%d): %ld ns, the system call %ld", id,
           own.tv_nsec, kernel.tv_nsec);
  });
  expect(!was_killed_by_filter(status),
         "clock_getres(%d): killed by the filter, so it made a system call", id);
  expect_passed(status, "clock_getres");
}

void check_null_pointers() {
  const int status = run_behind_filter([] {
    timeval* volatile no_time = nullptr;
    struct timezone zone {};
    expect(::gettimeofday(no_time, nullptr) == 0, "gettimeofday(NULL, NULL) failed");
    expect(::gettimeofday(no_time, &zone) == 0, "gettimeofday(NULL, &tz) failed");
  });
  expect(!was_killed_by_filter(status),
         "gettimeofday(NULL, ...): killed by the filter, so it made a system call");
  expect_passed(status, "gettimeofday(NULL, ...)");
}

// What the library must leave to the kernel is killed, or the filter would prove nothing.
void check_that_the_filter_kills() {
  for (const clockid_t id : {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, clockid_t{8},
                             clockid_t{-1}, clockid_t{64}}) {
    const int status = run_behind_filter([id] {
      timespec now{};
      ::clock_gettime(id, &now);
    });
    expect(was_killed_by_filter(status),
           "clock_gettime(%d) survived the filter: it never asked the kernel", id);
  }
}

}  // namespace
}  // namespace vvarclock::process

int main() {
  using namespace vvarclock::process;
  begin();
  require_filters();
  check_that_the_filter_kills();
  auto* const shared = static_cast<std::int64_t*>(mmap(
      nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  expect(shared != MAP_FAILED, "mmap: %s", std::strerror(errno));
  const bool has_clock_mode = kernel_serves_by_itself();
  for (const Call& call : kCalls) {
    if (has_clock_mode || !call.needs_counter) {
      check_call(call, shared);
    }
  }
  for (const clockid_t id : kServedIds) {
    check_resolution(id);
  }
  check_null_pointers();
  if (!has_clock_mode) {
    skip("the rest passed, but %s", kNoClockMode);
  }
  return 0;
}
