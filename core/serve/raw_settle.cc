// The caller's side of the raw clock: who must ask the kernel, and what a call that asked returns.
// The order that is kept here is proved in raw_clock.h.
#include <algorithm>

#include "core/serve/raw_clock.h"

namespace vvarclock::serve {
namespace {

using vvar::RawLine;
using vvar::RawPage;

// A word moves at most a few times per kRecheck.
constexpr int kSettleAttempts = 64;

}  // namespace

bool RawClock::must_ask(std::uint64_t word, std::uint64_t counter) noexcept {
  if (phase_of(word) != Phase::kLive) {
    return true;
  }
  RawSlot& slot = slots_[slot_of(word)];
  std::uint64_t due = slot.due.load(std::memory_order_acquire);
  if (counter < due) {
    return false;  // somebody has just checked it, or is about to
  }
  const RawLine line = slot.line();
  const std::uint64_t interval = line.cycles_of(kRecheck);
  const std::uint64_t last =
      std::min(slot.checked.load(std::memory_order_acquire) + 2 * interval, line.limit);
  const std::uint64_t meanwhile = std::min(counter + interval / 4, last);
  if (meanwhile <= counter) {
    return true;
  }
  // One caller wins and asks. The others are served meanwhile, and if it is never heard of again,
  // the next one asks.
  return slot.due.compare_exchange_strong(due, meanwhile);
}

// The floor of a retired line: no counter after this was served by it.
std::uint64_t RawClock::end_of(RawSlot& slot, Now now) noexcept {
  const std::uint64_t seen = slot.end.load(std::memory_order_acquire);
  if (RawSlot::is_known(seen)) {
    return seen;
  }
  const std::uint64_t due = slot.due.load(std::memory_order_acquire);
  const RawLine line = slot.line();
  RawPage page;
  const std::uint64_t start = slot.start.load(std::memory_order_acquire);
  const bool is_close = RawSlot::is_known(start) && now.read(now.source, page) &&
                        line.same_regime(page) && page.counter < due;
  const std::uint64_t last = std::max(page.counter + line.cycles_of(kOutOfOrder), start);
  return settle_once(slot.end, seen, is_close ? std::min(last, due) : due);
}

// From where the line is in force, never before its anchor. Not known: that cannot be told, because
// the page is not the line's, or there is another line by now.
std::uint64_t RawClock::start_of(RawSlot& slot, const RawLine& line, Now now) noexcept {
  const std::uint64_t seen = slot.start.load(std::memory_order_acquire);
  RawPage page;
  if (RawSlot::is_known(seen) || !now.read(now.source, page) || !line.same_regime(page)) {
    return seen;
  }
  const std::uint64_t start = page.counter + slot.gate.load(std::memory_order_acquire);
  return settle_once(slot.start, seen, std::max(start, line.anchor));
}

// False: the line and what this call saw have nothing to do with each other. It was retired.
bool RawClock::settle_live(std::uint64_t word, const Call& call, Now now,
                           std::uint64_t& ns) noexcept {
  RawSlot& slot = slots_[slot_of(word)];
  const RawLine line = slot.line();
  const RawPage& before = call.sample.before;
  const RawPage& after = call.sample.after;
  const std::uint64_t start = start_of(slot, line, now);
  const bool set_back = call.has_before && after.counter < before.counter;
  if (!RawSlot::is_known(start) || !call.has_after || !line.same_regime(after) || set_back) {
    contradict(word, Phase::kRetired);
    return false;
  }
  const std::uint64_t upper = std::max(after.counter, start);
  const std::uint64_t due = slot.due.load(std::memory_order_acquire);
  const std::uint64_t most = largest_bound_.load(std::memory_order_acquire);
  // Not below what the line has served: that was before this call, and before it was due. Nor below
  // what was given out before the line.
  std::uint64_t floor = slot.held.load(std::memory_order_acquire);
  if (!call.has_before || !line.same_regime(before)) {
    floor = std::max(floor, std::min(ns + most, line.value(std::min(upper, due))));
  } else if (before.counter < start) {
    floor = std::max(floor, std::min(ns + most, line.value(start)));
  } else {
    floor = line.value(std::min(before.counter, due));
  }
  ns = std::max(std::min(ns, line.value(upper)), floor);
  return true;
}

std::uint64_t RawClock::settle(const Call& call, Now now) noexcept {
  for (int attempt = 0; attempt < kSettleAttempts; ++attempt) {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    RawSlot& slot = slots_[slot_of(word)];
    std::uint64_t ns = call.sample.ns;
    if (phase_of(word) == Phase::kLive) {
      if (!settle_live(word, call, now, ns)) {
        continue;
      }
    } else if (phase_of(word) != Phase::kNone) {
      const std::uint64_t last = slot.line().value(end_of(slot, now));
      const std::uint64_t most = ns + largest_bound_.load(std::memory_order_acquire);
      const std::uint64_t floor = phase_of(word) == Phase::kHeld ? last : std::min(last, most);
      ns = std::max({ns, floor, slot.held.load(std::memory_order_acquire)});
    }
    if (word_.load(std::memory_order_acquire) == word) {
      return ns;
    }
  }
  return call.sample.ns;
}

}  // namespace vvarclock::serve
