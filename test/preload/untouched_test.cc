// Guards against: a host process that comes up otherwise than without the library.
//
// The probe is run with and without the library, in several circumstances, and what it finds
// (descriptors, signal mask and handlers, environment, limits, floating-point modes, errno,
// threads, timers) must be the same text, with nothing written to standard output or standard
// error. Among the circumstances: descriptors 0, 1, 2 closed, signals blocked, ignored and pending,
// one descriptor left, small limits. Arguments: the probe, the library. This program itself runs
// without the library, whose traces both runs would inherit.
#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <string>

#include "test/support/process.h"

namespace vvarclock::process {
namespace {

struct Circumstance {
  const char* name;
  void (*arrange)();
};

void nothing_special() {}

void standard_descriptors_closed() {
  close(0);
  close(1);
  close(2);
}

void signals_blocked_ignored_pending() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGPIPE, SIGUSR1, SIGALRM, SIGSEGV, SIGBUS, SIGXFSZ}) {
    sigaddset(&set, number);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGUSR2, SIG_IGN);
  std::raise(SIGUSR1);
  std::raise(SIGPIPE);
}

void limit(__rlimit_resource_t resource, rlim_t value) {
  const rlimit both{value, value};
  expect(setrlimit(resource, &both) == 0, "setrlimit: %s", std::strerror(errno));
}

// The loader and the probe need one free descriptor at a time, and get just that.
void one_descriptor_free() {
  const int next = dup(0);
  close(next);
  limit(RLIMIT_NOFILE, static_cast<rlim_t>(next) + 1);
}
void no_file_size() { limit(RLIMIT_FSIZE, 1 << 20); }
void little_stack() { limit(RLIMIT_STACK, 256 << 10); }

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    expect(mkdtemp(path_.data()) != nullptr, "mkdtemp: %s", std::strerror(errno));
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    for (const char* const name : {"state", "out"}) {
      unlink(file(name).c_str());
    }
    rmdir(path_.c_str());
  }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/vvarclock-untouched-XXXXXX";
};

std::string read_file(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  expect(file >= 0, "%s: %s", path.c_str(), std::strerror(errno));
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(file);
  return text;
}

struct Run {
  std::string state;
  std::string output;
};

// `library`: null for the run without it.
[[noreturn]] void become_probe(const Circumstance& circumstance, const char* probe,
                               const char* library, const std::string& state,
                               const std::string& output) {
  const int out = open(output.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  dup2(out, 1);
  dup2(out, 2);
  close(out);
  unsetenv("LD_PRELOAD");
  if (library != nullptr) {
    setenv("LD_PRELOAD", library, 1);
  }
  circumstance.arrange();
  execle(probe, probe, "state", state.c_str(), library != nullptr ? "with" : "without", nullptr,
         environ);
  fail("execle %s: %s", probe, std::strerror(errno));
}

// Both runs use the same files, so that their descriptors look the same.
Run run_probe(const Circumstance& circumstance, const char* probe, const char* library,
              const TemporaryDirectory& directory) {
  const std::string state = directory.file("state");
  const std::string output = directory.file("out");
  const int status =
      run_in_child([&] { become_probe(circumstance, probe, library, state, output); });
  Run run{read_file(state), read_file(output)};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    note("%s", run.output.c_str());
  }
  expect_passed(status, circumstance.name);
  return run;
}

// The first line that differs.
void expect_same(const char* name, const std::string& without, const std::string& with) {
  std::size_t at = 0;
  while (at < without.size() && at < with.size() && without[at] == with[at]) {
    ++at;
  }
  if (without == with) {
    return;
  }
  const auto line = [at](const std::string& text) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  fail("%s: without the library \"%s\", with it \"%s\"", name, line(without).c_str(),
       line(with).c_str());
}

void check_all(const char* probe, const char* library, const TemporaryDirectory& directory) {
  const Circumstance all[] = {
      {"nothing special", nothing_special},
      {"descriptors 0, 1 and 2 closed", standard_descriptors_closed},
      {"signals blocked, ignored and pending", signals_blocked_ignored_pending},
      {"one descriptor free", one_descriptor_free},
      {"small files only", no_file_size},
      {"little stack", little_stack},
  };
  for (const Circumstance& circumstance : all) {
    const Run without = run_probe(circumstance, probe, nullptr, directory);
    const Run with = run_probe(circumstance, probe, library, directory);
    expect_same(circumstance.name, without.state, with.state);
    expect(with.output == without.output, "%s: the library said: %s", circumstance.name,
           with.output.c_str());
    note("%s: the same", circumstance.name);
  }
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  expect(argc == 3, "usage: untouched_test PROBE LIBRARY");
  const TemporaryDirectory directory;
  // In a child, so that the folder is gone after a failure too.
  const int status = run_in_child([&] { check_all(argv[1], argv[2], directory); });
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailStatus;
}
