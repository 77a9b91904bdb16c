// A chain: one system call, some own readings in a row, one system call. Each reading is one
// bracket: not before the system call and the reading before it, not after the system call that
// ends the chain.
//
// A reading is so held against less than a microsecond of its own clock, at a fraction of the price
// of two system calls. The end of a chain begins the next, so the row has no gap and nothing steps
// back unseen. The wall clock may be set by somebody else: then, and only then, a chain of a call
// that follows it is void. See test/support/clock_calls.h for updates that are seen early.
#pragma once

#include <algorithm>
#include <array>

#include "test/preload/soak/tally.h"

namespace vvarclock::soak {

inline constexpr std::size_t kLinks = 8;
using Chain = std::array<std::int64_t, kLinks>;

inline bool holds(std::int64_t before, const Chain& own, std::int64_t after) {
  bool right = before <= own.front() && own.back() <= after;
  for (std::size_t i = 1; i < kLinks; ++i) {
    right = right && own[i - 1] <= own[i];
  }
  return right;
}

// Counts a chain's broken links, and tells the first few.
inline void count_breaks(Tally& tally, const process::Call& call, std::int64_t before,
                         const Chain& own, std::int64_t after,
                         const process::WallClockWatch& watch) {
  constexpr std::uint64_t kTold = 5;
  if (call.settable && watch.was_set()) {
    tally.voided += kLinks;
    return;
  }
  std::int64_t least = before;
  for (const std::int64_t link : own) {
    const process::Bracket seen{least, link, after};
    least = std::max(least, link);
    if (seen.holds()) {
      continue;
    }
    if (!call.needs_counter && link >= seen.before && process::comes_next(call, seen)) {
      ++tally.early;
    } else if (++tally.breaks <= kTold) {
      process::note("BREAK: %s: %lld is not between %lld and %lld (%+lld, %+lld)", call.name,
                    static_cast<long long>(link), static_cast<long long>(seen.before),
                    static_cast<long long>(after), static_cast<long long>(link - seen.before),
                    static_cast<long long>(link - after));
    }
  }
}

// `chains` chains of one call. Opens and closes one descriptor.
inline void read_chains(Tally& tally, std::size_t which, int chains) {
  const process::Call& call = process::kCalls[which];
  const process::WallClockWatch watch;
  std::int64_t before = call.kernel();
  for (int i = 0; i < chains; ++i) {
    Chain own;
    for (std::int64_t& link : own) {
      link = call.own();
    }
    const std::int64_t after = call.kernel();
    if (!holds(before, own, after)) {
      count_breaks(tally, call, before, own, after, watch);
    }
    before = after;
  }
  tally.brackets[which] += static_cast<std::uint64_t>(chains) * kLinks;
}

inline void read_all(Tally& tally, int chains) {
  for (std::size_t which = 0; which < process::kCalls.size(); ++which) {
    read_chains(tally, which, chains);
  }
}

inline void read_until_stopped(Tally& tally, int chains) {
  while (!tally.stop.load(std::memory_order_relaxed)) {
    read_all(tally, chains);
  }
}

}  // namespace vvarclock::soak
