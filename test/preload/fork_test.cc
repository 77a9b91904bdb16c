// Guards against: a child process that no longer knows the time.
//
// fork, fork of a fork, fork while other threads read, vfork, and posix_spawn of a fresh program.
// Argument "spawned": the fresh program.
#include <spawn.h>

#include <atomic>
#include <thread>

#include "test/support/clock_calls.h"

namespace vvarclock::process {
namespace {

constexpr long kReads = 2'000;

void plain_fork() {
  expect_passed(run_in_child([] {
                  expect_all_bracketed("after fork: ", kReads);
                  expect_passed(
                      run_in_child([] { expect_all_bracketed("after fork of a fork: ", kReads); }),
                      "grandchild");
                }),
                "child after fork");
  expect_all_bracketed("in the parent: ", kReads);
}

// The state of a call that another thread was in when the process forked must not matter.
void fork_among_threads() {
  std::atomic<bool> stop{false};
  std::thread reader([&stop] {
    while (!stop.load(std::memory_order_relaxed)) {
      expect_all_bracketed("beside forks: ", 10);
    }
  });
  for (int i = 0; i < 50; ++i) {
    expect_passed(run_in_child([] { expect_all_bracketed("after fork among threads: ", 20); }),
                  "child of a threaded process");
  }
  stop.store(true);
  reader.join();
}

// A vfork child runs on its parent's memory and stack.
void vfork_child() {
  volatile pid_t child = vfork();
  if (child == 0) {
    for (const Call& call : kCalls) {
      const std::int64_t before = call.kernel();
      const std::int64_t own = call.own();
      const std::int64_t after = call.kernel();
      if (!(before <= own && own <= after)) {
        _exit(kFailStatus);
      }
    }
    _exit(0);
  }
  expect(child > 0, "vfork: %s", std::strerror(errno));
  expect_passed(wait_for(child), "child after vfork");
  expect_all_bracketed("in the parent after vfork: ", kReads);
}

void spawned_program(const char* self) {
  std::array<char*, 3> arguments{const_cast<char*>(self), const_cast<char*>("spawned"), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
  expect(error == 0, "posix_spawn: %s", std::strerror(error));
  expect_passed(wait_for(child), "spawned program");
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  if (argc > 1) {
    expect_all_bracketed("spawned: ", kReads);
    return 0;
  }
  plain_fork();
  fork_among_threads();
  vfork_child();
  spawned_program(argv[0]);
  return 0;
}
