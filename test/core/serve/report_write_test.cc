// Guards the report's way out: one that kills, blocks or litters the host would be worse than none.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include "core/serve/report.h"
#include "test/core/serve/report_scene.h"
#include "test/support/catch.h"

namespace vvarclock::serve {
namespace {

class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Folder() {
    ::unlink(file("report.json").c_str());
    ::unlink(file("other").c_str());
    ::rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/vvarclock-report-XXXXXX";
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string plain_characters() {
  std::string all;
  for (char c = ' '; c <= '~'; ++c) {
    all += c;
  }
  return all;
}

void report_to(Scene& scene, const std::string& path) {
  scene.options.report = ReportChoice::kFile;
  scene.options.report_path = path.c_str();
  write_report(scene.report, scene.options);
}

// Runs it in a child whose standard error is a pipe; returns what it wrote there, and its wait
// status.
template <class F>
std::string standard_error_of(F run, int& status) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    run();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 512> bytes{};
  for (ssize_t size = 0; (size = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  REQUIRE(::waitpid(child, &status, 0) == child);
  return text;
}

TEST_CASE("a file is created for its owner alone, and appended to") {
  const Folder folder;
  const std::string path = folder.file("report.json");
  Scene scene;
  const int next_descriptor = ::dup(0);
  ::close(next_descriptor);
  errno = 4321;
  report_to(scene, path);
  report_to(scene, path);
  CHECK(errno == 4321);
  CHECK(content(path) == scene.json() + scene.json());
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  const int descriptor = ::dup(0);
  CHECK(descriptor == next_descriptor);
  ::close(descriptor);
}

TEST_CASE("a name that does not end in .json gets text") {
  const Folder folder;
  Scene scene;
  report_to(scene, folder.file("other"));
  CHECK(content(folder.file("other")) == scene.text());
}

TEST_CASE("only a regular file is written to, and one line says so") {
  const Folder folder;
  const std::string path = folder.file("report.json");
  int status = 0;
  Scene scene;
  const auto run = [&] { report_to(scene, path); };
  SECTION("a symbolic link, its target untouched") {
    REQUIRE(::symlink(folder.file("other").c_str(), path.c_str()) == 0);
    CHECK(holds(standard_error_of(run, status), "a symbolic link is not followed\n"));
    CHECK(::access(folder.file("other").c_str(), F_OK) != 0);
  }
  SECTION("a FIFO without a reader does not block") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK(holds(standard_error_of(run, status), "it is not a regular file\n"));
  }
  SECTION("a FIFO with a reader is not even opened") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    CHECK(holds(standard_error_of(run, status), "it is not a regular file\n"));
    // A writer that came and went would have left a hang-up behind.
    pollfd end{reader, POLLIN, 0};
    CHECK(::poll(&end, 1, 0) == 0);
    ::close(reader);
  }
  SECTION("a symbolic link to nothing") {
    REQUIRE(::symlink("/nonexistent", path.c_str()) == 0);
    CHECK(holds(standard_error_of(run, status), "a symbolic link is not followed\n"));
  }
  SECTION("a second name of somebody's file, which stays as it was") {
    std::ofstream(folder.file("other")) << "precious";
    REQUIRE(::link(folder.file("other").c_str(), path.c_str()) == 0);
    CHECK(holds(standard_error_of(run, status), "it has more than one name (hard link)\n"));
    CHECK(content(path) == "precious");
  }
  SECTION("a folder that is not there") {
    const std::string nowhere = folder.file("no/such/report");
    const std::string said = standard_error_of([&] { report_to(scene, nowhere); }, status);
    CHECK(said.rfind("vvarclock: VVARCLOCK_REPORT '", 0) == 0);
    CHECK(said.find('\n') == said.size() - 1);
  }
  CHECK(status == 0);
}

TEST_CASE("a file that somebody else has put there gets nothing: its owner could read addresses") {
  if (::geteuid() != 0) {
    WARN("skipped: giving a file to another user needs root");
    return;
  }
  const Folder folder;
  const std::string path = folder.file("report.json");
  std::ofstream(path).flush();
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  Scene scene;
  int status = 0;
  const std::string said = standard_error_of([&] { report_to(scene, path); }, status);
  CHECK(holds(said, "it belongs to somebody else\n"));
  CHECK(content(path).empty());
}

TEST_CASE("a strange path is quoted in one short line of plain characters") {
  Scene scene;
  int status = 0;
  const std::string path = GENERATE(std::string("/no/\x1b[31m\nvvarclock: 9, attached\xff"),
                                    "/no/" + std::string(100'000, 'A'));
  const std::string said = standard_error_of([&] { report_to(scene, path); }, status);
  CHECK(status == 0);
  CHECK(said.rfind("vvarclock: VVARCLOCK_REPORT '/no/", 0) == 0);
  CHECK(said.size() < 512);
  CHECK(said.find_first_not_of(plain_characters()) == said.size() - 1);
}

TEST_CASE("a file size limit does not end the host") {
  const Folder folder;
  Scene scene;
  int status = 0;
  const std::string said = standard_error_of(
      [&] {
        const rlimit nothing{0, 0};
        ::setrlimit(RLIMIT_FSIZE, &nothing);
        report_to(scene, folder.file("report.json"));
      },
      status);
  CHECK(status == 0);
  CHECK(holds(said, "it does not take the report in one piece\n"));
}

TEST_CASE("standard error that nobody reads does not end the host") {
  Scene scene;
  scene.options.report = ReportChoice::kStderr;
  int status = 0;
  standard_error_of(
      [&] {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) {
          ::_exit(1);
        }
        ::dup2(ends[1], STDERR_FILENO);
        ::close(ends[0]);
        write_report(scene.report, scene.options);
        sigset_t waiting;
        ::sigpending(&waiting);
        sigset_t mask;
        ::sigprocmask(SIG_SETMASK, nullptr, &mask);
        ::_exit(::sigismember(&waiting, SIGPIPE) == 0 && ::sigismember(&mask, SIGPIPE) == 0 ? 0
                                                                                            : 1);
      },
      status);
  CHECK(status == 0);
}

TEST_CASE("reports of many processes at once stay whole") {
  const Folder folder;
  const std::string path = folder.file("report.json");
  Scene scene;
  constexpr int kProcesses = 24;
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() == 0) {
      report_to(scene, path);
      ::_exit(0);
    }
  }
  while (::wait(nullptr) > 0) {
  }
  std::istringstream lines(content(path));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CHECK(line + "\n" == scene.json());
  }
  CHECK(count == kProcesses);
}

TEST_CASE("nothing is written unless asked, and standard error gets either form") {
  Scene scene;
  int status = 0;
  const auto run = [&] { write_report(scene.report, scene.options); };
  CHECK(standard_error_of(run, status).empty());
  scene.options.report = ReportChoice::kStderr;
  CHECK(standard_error_of(run, status) == scene.text());
  scene.options.report = ReportChoice::kJson;
  CHECK(standard_error_of(run, status) == scene.json());
}

}  // namespace
}  // namespace vvarclock::serve
