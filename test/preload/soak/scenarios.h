// The circumstances of a soak. Each runs in a process of its own, which is lost afterwards, until
// its tally says stop.
#pragma once

#include <array>

#include "test/preload/soak/tally.h"

namespace vvarclock::soak {

// One thread on each CPU, tied to it.
void pinned(Tally& tally);
// Threads that another one moves between CPUs at any instant. Events: moves.
void migrating(Tally& tally);
// A process for each CPU, with a signal every 100 us whose handler reads one clock after
// the other between system calls of its own. Events: signals.
void signals(Tally& tally);
// Threads read while their process forks, children read and fork again. Events: forks.
void forks(Tally& tally);
// Children in a new time namespace, and a process that goes into one and out again while it reads.
// Events: entries.
void namespaces(Tally& tally);

struct Scenario {
  const char* name;
  void (*run)(Tally& tally);
  const char* events;
};

inline constexpr std::array<Scenario, 5> kScenarios{{
    {"pinned", pinned, "-"},
    {"migrating", migrating, "moves"},
    {"signals", signals, "signals"},
    {"forks", forks, "forks"},
    {"namespaces", namespaces, "entries"},
}};

}  // namespace vvarclock::soak
