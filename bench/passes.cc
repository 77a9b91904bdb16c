#include "bench/passes.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace vvarclock::bench {

std::optional<Pass> pass_of_fresh_process(const Plan& plan, std::span<char* const> words) {
  std::string worker = "--worker";
  std::vector<char*> arguments(words.begin(), words.end());
  arguments.push_back(worker.data());
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::nullopt;
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = -1;
  const int failed =
      ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::optional<Pass> pass;
  if (failed == 0) {
    pass = receive(plan, ends[0]);
  }
  ::close(ends[0]);
  int status = -1;
  while (failed == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? pass : std::nullopt;
}

}  // namespace vvarclock::bench
