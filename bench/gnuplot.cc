// Running gnuplot: its program on standard input, from memory, without the user's own settings.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/plot.h"
#include "core/serve/message.h"

namespace vvarclock::bench {
namespace {

// True: it ran and ended with status 0. `input` becomes its standard input; `quiet`: without
// output.
bool succeeds(const char* option, int input, bool quiet) {
  const char* const words[] = {"gnuplot", option, nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, 0);
  if (quiet) {
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = -1;
  const int failed =
      ::posix_spawnp(&child, words[0], &actions, nullptr, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  while (failed == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool has_gnuplot() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool found = succeeds("--version", nothing, true);
  ::close(nothing);
  return found;
}

bool run_gnuplot(const std::string& program) {
  const int input = ::memfd_create("gnuplot", MFD_CLOEXEC);
  if (input < 0) {
    return false;
  }
  serve::write_all(input, program);
  const bool drawn =
      ::lseek(input, 0, SEEK_SET) == 0 && succeeds("--default-settings", input, false);
  ::close(input);
  return drawn;
}

}  // namespace vvarclock::bench
