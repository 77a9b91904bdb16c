// Guards the proof of who serves: a filter that lets system calls through would prove everything.
#include "doctor/library.h"

#include "test/support/catch.h"

namespace vvarclock::doctor {
namespace {

constexpr std::uint32_t kAllCalls = (1U << kCalls.size()) - 1;

TEST_CASE("no call succeeds by a system call, and the caller's own are still allowed afterwards") {
  const std::optional<std::uint32_t> seen = calls_without_syscall(syscall_way());
  if (!seen) {
    return test::skip("no seccomp filter can be had here");
  }
  CHECK(*seen == 0);
  for (const Call& call : kCalls) {
    CHECK(succeeds(syscall_way(), call));
  }
}

TEST_CASE("calls that need no system call are seen, one by one") {
  Way way;
  way.time = [](time_t*) -> time_t { return 1; };
  const std::optional<std::uint32_t> seen = calls_without_syscall(way);
  if (!seen) {
    return test::skip("no seccomp filter can be had here");
  }
  for (std::size_t i = 0; i < kCalls.size(); ++i) {
    CHECK(((*seen >> i) & 1U) == (kCalls[i].form == Form::kTime ? 1U : 0U));
  }
  way.clock_gettime = [](clockid_t, timespec*) { return 0; };
  way.gettimeofday = [](timeval*, void*) { return 0; };
  way.clock_getres = way.clock_gettime;
  CHECK(calls_without_syscall(way) == kAllCalls);
}

TEST_CASE("a way that crashes teaches nothing") {
  Way way;
  way.time = [](time_t*) -> time_t { __builtin_trap(); };
  CHECK_FALSE(calls_without_syscall(way).has_value());
}

TEST_CASE("a process without the library says so") {
  const Library library = find_library();
  CHECK(library.path.empty());
  CHECK_FALSE(library.first);
  CHECK_FALSE(library.answerer.empty());
}

}  // namespace
}  // namespace vvarclock::doctor
