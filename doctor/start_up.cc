#include "doctor/start_up.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
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

bool is_of(std::string_view variable, std::string_view name) {
  return variable.starts_with(name) && variable.substr(name.size()).starts_with('=');
}

std::vector<std::string> environment_with(std::vector<std::string> more) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_of(*variable, "VVARCLOCK_REPORT") && !is_of(*variable, "VVARCLOCK")) {
      more.emplace_back(*variable);
    }
  }
  return more;
}

struct Started {
  std::string said;  // on standard error; empty when it could not be started
  double faults = 0;
};

Started start_once(const std::string& program, const char* on_or_off) {
  std::array<int, 2> line{};
  if (::pipe2(line.data(), O_CLOEXEC) != 0) {
    return {};
  }
  std::vector<std::string> kept =
      environment_with({"VVARCLOCK_REPORT=json", std::string("VVARCLOCK=") + on_or_off});
  std::vector<char*> environment;
  environment.reserve(kept.size() + 1);
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
  Started started;
  rusage usage{};
  if (failed == 0) {
    started.said = read_all(line[0]);
    ::wait4(child, nullptr, 0, &usage);
    started.faults = static_cast<double>(usage.ru_minflt);
  }
  ::close(line[0]);
  return started;
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

StartUp time_start_up(const std::string& program, int starts, double tsc_hz) {
  std::array<std::vector<double>, kStartUpSteps.size()> samples;
  std::vector<double> faults_on;
  std::vector<double> faults_off;
  for (int start = 0; start < starts; ++start) {
    const Started on = start_once(program, "on");
    const Started off = start_once(program, "off");
    StepCycles cycles{};
    if (!read_step_cycles(on.said, cycles) || tsc_hz <= 0) {
      return {};
    }
    faults_on.push_back(on.faults);
    faults_off.push_back(off.faults);
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      samples[i].push_back(static_cast<double>(cycles[i]) / tsc_hz * 1e6);
    }
  }
  StartUp found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    found.steps.push_back(summarise(kStartUpSteps[i], samples[i]));
  }
  found.faults = summarise("", faults_on).median - summarise("", faults_off).median;
  return found;
}

}  // namespace vvarclock::doctor
