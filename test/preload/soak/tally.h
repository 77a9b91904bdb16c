// What a soak counts, in memory that all its processes share.
//
// A counter is added to by every process and every signal handler; nothing else is kept there. A
// process that dies leaves its counts behind, and is counted as lost by who waited for it.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "test/support/clock_calls.h"

namespace vvarclock::soak {

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free, "processes share it");

// One circumstance under which clocks are read.
struct Tally {
  std::array<Counter, process::kCalls.size()> brackets{};  // readings that were judged
  Counter breaks{0};
  Counter voided{0};  // somebody set the wall clock meanwhile
  Counter early{0};   // the page's next update, before the system call had it
  Counter lost{0};    // processes that ended otherwise than they should
  Counter events{0};  // moves, signals, forks or namespaces
  std::atomic<bool> skipped{false};
  std::atomic<bool> stop{false};

  [[nodiscard]] std::uint64_t all_brackets() const {
    std::uint64_t sum = 0;
    for (const Counter& each : brackets) {
      sum += each.load();
    }
    return sum;
  }
};

inline Tally& shared_tally() {
  void* const memory =
      mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  process::expect(memory != MAP_FAILED, "mmap: %s", std::strerror(errno));
  return *new (memory) Tally;
}

}  // namespace vvarclock::soak
