// Guards against: what is wrong once in a hundred million readings, or only when much comes
// together.
//
// Every clock in every circumstance of scenarios.h, in turn, until the time is up; counted are
// brackets (chain.h says what one is) and those that broke. Runs under the library, in the order
// that VVARCLOCK_ORDER names; scripts/soak runs it in all of them side by side. Argument: seconds.
// Prints a row for each circumstance and the sum; status 1 when a bracket broke or a process was
// lost.
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>

#include "test/preload/soak/chain.h"
#include "test/preload/soak/scenarios.h"

namespace vvarclock::soak {
namespace {

using process::note;

constexpr double kLongestTurn = 10;  // seconds in one circumstance, then the next
constexpr double kRounds = 3;        // at least so many turns of each, when there is little time

double now() {
  return static_cast<double>(process::kernel_clock<CLOCK_MONOTONIC>()) /
         static_cast<double>(process::kNsPerSec);
}

void sleep_for(double seconds) {
  timespec rest{static_cast<time_t>(seconds), 0};
  rest.tv_nsec = static_cast<long>((seconds - static_cast<double>(rest.tv_sec)) * 1e9);
  while (nanosleep(&rest, &rest) != 0) {
    process::expect(errno == EINTR, "nanosleep: %s", std::strerror(errno));
  }
}

// One circumstance for some time, in a process of its own.
void take_turn(const Scenario& scenario, Tally& tally, double seconds) {
  tally.stop = false;
  const pid_t child = fork();
  process::expect(child >= 0, "fork: %s", std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    scenario.run(tally);
    _exit(0);
  }
  sleep_for(seconds);
  tally.stop = true;
  const int status = process::wait_for(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    ++tally.lost;
  }
}

void print_row(const char* name, const Tally& tally, const char* events) {
  const auto number = [](const Counter& counter) {
    return static_cast<unsigned long long>(counter.load());
  };
  note("%-10s %-10s %14llu brackets %6llu broken %6llu void %4llu early %4llu lost %10llu %s",
       process::order().data(), name, static_cast<unsigned long long>(tally.all_brackets()),
       number(tally.breaks), number(tally.voided), number(tally.early), number(tally.lost),
       number(tally.events), events);
}

// In one row for each call: no id was left out.
void print_calls(const std::array<Tally*, kScenarios.size()>& tallies) {
  for (std::size_t which = 0; which < process::kCalls.size(); ++which) {
    std::uint64_t sum = 0;
    for (const Tally* tally : tallies) {
      sum += tally->brackets[which].load();
    }
    note("%-10s %-26s %14llu brackets", process::order().data(), process::kCalls[which].name,
         static_cast<unsigned long long>(sum));
  }
}

// Early updates come seldom: a system call that the kernel is slow to give is none.
bool is_right(const Tally& tally) {
  constexpr std::uint64_t kFew = 3;
  constexpr std::uint64_t kOneIn = 1'000'000;
  return tally.breaks == 0 && tally.lost == 0 &&
         tally.early <= kFew + tally.all_brackets() / kOneIn;
}

int run(double seconds) {
  std::array<Tally*, kScenarios.size()> tallies{};
  std::generate(tallies.begin(), tallies.end(), [] { return &shared_tally(); });
  const double turn =
      std::min(kLongestTurn, seconds / (kRounds * static_cast<double>(kScenarios.size())));
  const double end = now() + seconds;
  while (now() < end) {
    for (std::size_t i = 0; i < kScenarios.size() && now() < end; ++i) {
      take_turn(kScenarios[i], *tallies[i], std::min(turn, std::max(0.0, end - now())));
    }
  }
  bool right = true;
  for (std::size_t i = 0; i < kScenarios.size(); ++i) {
    const Tally& tally = *tallies[i];
    if (tally.skipped) {
      note("%-10s %-10s not run", process::order().data(), kScenarios[i].name);
      continue;
    }
    print_row(kScenarios[i].name, tally, kScenarios[i].events);
    right = right && is_right(tally);
    if (tally.all_brackets() == 0) {
      note("FAIL: nothing was read in %s", kScenarios[i].name);
      right = false;
    }
  }
  print_calls(tallies);
  return right ? 0 : process::kFailStatus;
}

}  // namespace
}  // namespace vvarclock::soak

int main(int argc, char** argv) {
  using namespace vvarclock;
  process::begin();
  const double seconds = argc == 2 ? std::atof(argv[1]) : 0;
  process::expect(seconds > 0, "usage: soak SECONDS");
  return soak::run(seconds);
}
