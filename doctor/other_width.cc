#include "doctor/other_width.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "doctor/json.h"

namespace vvarclock::doctor {
namespace {

// Not by a shell nor by execvp, which take a program that the kernel refuses for a script.
int start(pid_t& child, const char* program, const std::vector<std::string>& options) {
  std::vector<char*> arguments{const_cast<char*>(program)};
  for (const std::string& option : options) {
    arguments.push_back(const_cast<char*>(option.c_str()));
  }
  arguments.push_back(nullptr);
  return ::posix_spawn(&child, program, nullptr, nullptr, arguments.data(), environ);
}

void say_cannot_run(int error, bool json) {
  const char* const reason =
      error == ENOEXEC ? "this kernel does not run such programs" : std::strerror(error);
  if (json) {
    Json out;
    out.open('{').key("bits").number(std::int64_t{kOtherBits});
    out.key("runs").boolean(false).key("reason").string(reason).close('}');
    std::printf("%s\n", out.text().c_str());
  } else {
    std::printf("\n%d-bit programs: %s\n", kOtherBits, reason);
  }
}

}  // namespace

int examine_other_width(const char* program, const std::vector<std::string>& options, bool json) {
  pid_t child = 0;
  if (!json) {
    std::printf("\n");
  }
  std::fflush(stdout);
  if (const int error = start(child, program, options); error != 0) {
    say_cannot_run(error, json);
    return 0;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kNothingServed = 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNothingServed;
}

}  // namespace vvarclock::doctor
