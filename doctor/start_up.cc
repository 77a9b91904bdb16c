#include "doctor/start_up.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>

namespace vvarclock::doctor {
namespace {

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> piece;
  ssize_t got;
  while ((got = ::read(descriptor, piece.data(), piece.size())) > 0) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::vector<std::string> environment_for_report() {
  std::vector<std::string> kept{"VVARCLOCK_REPORT=json"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("VVARCLOCK_REPORT=")) {
      kept.emplace_back(*variable);
    }
  }
  return kept;
}

// What the program says on standard error; empty when it could not be started.
std::string start_once(const std::string& program) {
  std::array<int, 2> line{};
  if (::pipe2(line.data(), O_CLOEXEC) != 0) {
    return {};
  }
  std::vector<std::string> kept = environment_for_report();
  std::vector<char*> environment;
  for (std::string& variable : kept) {
    environment.push_back(variable.data());
  }
  environment.push_back(nullptr);
  std::string name = program;
  std::string word = kJustStart;
  const std::array<char*, 3> arguments{name.data(), word.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, line[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(),
                                   environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(line[1]);
  const std::string said = failed == 0 ? read_all(line[0]) : std::string();
  ::close(line[0]);
  if (failed == 0) {
    ::waitpid(child, nullptr, 0);
  }
  return said;
}

}  // namespace

bool read_step_cycles(std::string_view report, StepCycles& cycles) {
  constexpr std::string_view kMember = R"("start_up_cycles": {)";
  const std::size_t start = report.find(kMember);
  if (start == std::string_view::npos) {
    return false;
  }
  report.remove_prefix(start + kMember.size() - 1);
  report = report.substr(0, report.find('}'));
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    const std::string key = std::string("\"") + kStartUpSteps[i] + "\": ";
    const std::size_t at = report.find(key);
    if (at == std::string_view::npos) {
      return false;
    }
    const char* const number = report.data() + at + key.size();
    if (std::from_chars(number, report.data() + report.size(), cycles[i]).ec != std::errc()) {
      return false;
    }
  }
  return true;
}

std::vector<Figure> time_start_up(const std::string& program, int starts, double tsc_hz) {
  std::array<std::vector<double>, kStartUpSteps.size()> samples;
  for (int start = 0; start < starts; ++start) {
    StepCycles cycles{};
    if (!read_step_cycles(start_once(program), cycles) || tsc_hz <= 0) {
      return {};
    }
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      samples[i].push_back(static_cast<double>(cycles[i]) / tsc_hz * 1e6);
    }
  }
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    figures.push_back(summarise(kStartUpSteps[i], samples[i]));
  }
  return figures;
}

}  // namespace vvarclock::doctor
