// Guards against: the time of another time namespace.
//
// A process enters a namespace by unshare and fork without exec, by setns while it runs, from
// inside another namespace, and is executed anew inside one, so that attaching meets the
// namespace's page. Offsets are positive, negative and large. Each time every clock must be the
// system call's, without a system call; and the parent's clocks stay the parent's. Argument
// "inside": the fresh program.
#include <iterator>
#include <limits>

#include "test/support/clock_calls.h"
#include "test/support/clock_filter.h"
#include "test/support/time_namespace.h"

namespace vvarclock::process {
namespace {

constexpr long kReads = 3'000;

bool has_clock_mode = false;

// The system call's MONOTONIC of this process, seen from its parent and child alike.
std::int64_t monotonic_sec() { return kernel_clock<CLOCK_MONOTONIC>() / kNsPerSec; }

// The longest way back that keeps MONOTONIC and BOOTTIME above zero.
Offsets backwards() {
  const std::int64_t sec = monotonic_sec() > 100 ? monotonic_sec() - 50 : 0;
  return {"negative", -sec, 0, -sec / 2, 999'999'999};
}

void expect_no_system_call(const char* where) {
  if (!has_clock_mode) {
    return;
  }
  const int status = run_behind_filter([] {
    for (const Call& call : kCalls) {
      call.own();
    }
  });
  expect(!was_killed_by_filter(status), "%sa served clock made a system call", where);
  expect_passed(status, where);
}

void expect_right_here(const char* where) {
  expect_all_bracketed(where, kReads);
  expect_no_system_call(where);
}

void execute_inside(const Offsets& offsets) {
  const int status = run_in_child([] { run_again("inside"); });
  expect_passed(status, offsets.name);
}

void check_offsets(const Offsets& offsets) {
  const std::int64_t outside = monotonic_sec();
  const int status = run_in_child([&] {
    prepare(offsets);
    expect_right_here("unshared, not forked: ");
    expect_passed(run_in_child([&] {
                    const std::int64_t shift = monotonic_sec() - outside - offsets.monotonic_sec;
                    expect(shift >= 0 && shift < 3600, "offsets %s are not in force: off by %lld s",
                           offsets.name, static_cast<long long>(shift));
                    expect_right_here("in a namespace: ");
                    execute_inside(offsets);
                  }),
                  offsets.name);
    expect_right_here("parent of a namespace: ");
  });
  expect_passed(status, offsets.name);
  note("offsets %s (%lld s, %lld s): right", offsets.name,
       static_cast<long long>(offsets.monotonic_sec), static_cast<long long>(offsets.boottime_sec));
}

void check_nested(const Offsets& outer, const Offsets& inner) {
  const int status = run_in_child([&] {
    prepare(outer);
    expect_passed(run_in_child([&] {
                    prepare(inner);
                    expect_passed(run_in_child([&] {
                                    expect_right_here("in a nested namespace: ");
                                    execute_inside(inner);
                                  }),
                                  "nested namespace");
                    expect_right_here("parent of a nested namespace: ");
                  }),
                  "outer namespace");
  });
  expect_passed(status, "nested namespaces");
}

// Moves this very process, which has one thread, into the namespace of its children and back, many
// times: the page is exchanged under the running program.
void check_setns(const Offsets& offsets) {
  const int status = run_in_child([&] {
    const int home = open("/proc/self/ns/time", O_RDONLY | O_CLOEXEC);
    prepare(offsets);
    const int away = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
    expect(home >= 0 && away >= 0, "/proc/self/ns: %s", std::strerror(errno));
    if (setns(away, CLONE_NEWTIME) != 0) {
      skip("setns: %s", std::strerror(errno));
    }
    expect_right_here("after setns: ");
    for (int i = 0; i < 20; ++i) {
      expect(setns(home, CLONE_NEWTIME) == 0, "setns home: %s", std::strerror(errno));
      expect_all_bracketed("after setns home: ", 50);
      expect(setns(away, CLONE_NEWTIME) == 0, "setns away: %s", std::strerror(errno));
      expect_all_bracketed("after setns away: ", 50);
    }
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipStatus) {
    note("the rest goes on");
    return;
  }
  expect_passed(status, "setns");
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char**) {
  using namespace vvarclock::process;
  begin();
  has_clock_mode = kernel_serves_by_itself();
  if (argc > 1) {
    expect_right_here("executed in a namespace: ");
    return 0;
  }
  if (!can_unshare_time()) {
    skip("%s", kNoTimeNamespace);
  }
  const Offsets all[] = {
      {"positive", 86'400, 500'000'000, 172'800, 1},
      {"of nanoseconds", 0, 999'999'999, 0, 999'999'999},
      {"zero", 0, 0, 0, 0},
      {"large", 4'000'000'000, 123'456'789, 4'100'000'000, 987'654'321},
      backwards(),
  };
  for (const Offsets& offsets : all) {
    if (offsets.boottime_sec > std::numeric_limits<time_t>::max()) {
      note("offsets %s: not tried, a time_t of 32 bits does not hold them", offsets.name);
      continue;
    }
    check_offsets(offsets);
  }
  check_nested(all[0], backwards());
  check_setns(all[0]);
  check_setns(backwards());
  expect_right_here("at the end: ");
  return 0;
}
