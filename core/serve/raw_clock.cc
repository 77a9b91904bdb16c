// The writer's side of the raw clock: what a system call teaches, when a line is published, kept or
// retired.
#include "core/serve/raw_clock.h"

#include <algorithm>

namespace vvarclock::serve {
namespace {

using vvar::FitStep;
using vvar::RawFit;
using vvar::RawLine;
using vvar::RawPage;
using vvar::RawSample;

// A bracket much wider than the best proves little.
constexpr std::uint64_t kProofWidths = 16;

}  // namespace

const char* name(RawState state) noexcept {
  switch (state) {
    case RawState::kOff:
      return "off";
    case RawState::kSampling:
      return "sampling";
    case RawState::kServing:
      return "serving";
    case RawState::kContradicted:
      return "contradicted";
  }
  return "?";
}

void RawClock::begin(arch::ClockMode mode, std::uint32_t tick_ns) noexcept {
  for (RawFit& fit : fits_) {
    fit.reset(tick_ns);
  }
  tick_ns_.store(tick_ns, std::memory_order_relaxed);
  mode_.store(tick_ns == 0 ? arch::kModeNone : mode, std::memory_order_release);
}

RawClockStatus RawClock::status() const noexcept {
  RawClockStatus status;
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  status.recheck = kRecheck;
  status.largest_bound = largest_bound_.load(std::memory_order_relaxed);
  status.samples = samples_.load(std::memory_order_relaxed);
  status.contradictions = contradictions_.load(std::memory_order_relaxed);
  if (phase_of(word) == Phase::kLive) {
    const RawLine line = slots_[slot_of(word)].line();
    const std::uint32_t kind = kind_.load(std::memory_order_relaxed);
    status.state = RawState::kServing;
    status.mult = line.mult;
    status.shift = line.shift;
    status.bound = line.bound;
    status.knows_kind = kind != 0;
    status.rounds = kind == 2;
  } else if (mode_.load(std::memory_order_relaxed) != arch::kModeNone && !has_given_up()) {
    status.state = status.contradictions == 0 ? RawState::kSampling : RawState::kContradicted;
  }
  return status;
}

void RawClock::begin_call(Call& call) const noexcept {
  call.restarts = restarts_.load(std::memory_order_acquire);
  call.word = word_.load(std::memory_order_acquire);
}

RawClock::Lock RawClock::try_lock(const RawPage& page) noexcept {
  const std::uint64_t stamp = page.counter | 1;
  const std::size_t room = room_.load(std::memory_order_acquire);
  std::uint64_t seen = lock_.load(std::memory_order_acquire);
  if (seen != 0) {
    return steal(page, seen, stamp);
  }
  if (!lock_.compare_exchange_strong(seen, stamp)) {
    return {};
  }
  const Lock lock{stamp, room};
  if (room_.load(std::memory_order_acquire) == room) {
    return lock;
  }
  unlock(lock);  // stopped around the exchange, we were ourselves taken for lost
  return {};
}

// A writer that is lost was stopped, or left behind by fork. It may come back and go on, so its
// room is its own from now on, and the word moves so that it can publish nothing. Who steals may be
// stopped and taken for lost as well: a room is ours only when it was ours to take, and the lock
// was still ours after that.
RawClock::Lock RawClock::steal(const RawPage& page, std::uint64_t seen,
                               std::uint64_t stamp) noexcept {
  const std::uint64_t age = stamp > seen ? stamp - seen : seen - stamp;
  const bool is_lost = (arch::Uint128{age} * page.mult >> (page.shift & 63U)) >= kLease;
  if (!is_lost || room_.load(std::memory_order_acquire) + 1 >= kRooms ||
      !lock_.compare_exchange_strong(seen, stamp)) {
    return {};
  }
  std::size_t room = room_.load(std::memory_order_acquire);
  if (room + 1 >= kRooms || !room_.compare_exchange_strong(room, room + 1) ||
      lock_.load(std::memory_order_acquire) != stamp) {
    return {};
  }
  restarts_.fetch_add(1);
  std::uint64_t word = word_.load(std::memory_order_acquire);
  while (!retire(word, Phase::kRetired) &&
         (phase_of(word) == Phase::kLive ||
          !word_.compare_exchange_strong(word, next(word, slot_of(word), phase_of(word))))) {
    word = word_.load(std::memory_order_acquire);
  }
  return {stamp, room + 1};
}

void RawClock::unlock(const Lock& lock) noexcept {
  std::uint64_t stamp = lock.stamp;
  lock_.compare_exchange_strong(stamp, 0);
}

bool RawClock::retire(std::uint64_t word, Phase phase) noexcept {
  return phase_of(word) == Phase::kLive &&
         word_.compare_exchange_strong(word, next(word, slot_of(word), phase));
}

void RawClock::contradict(std::uint64_t word, Phase phase) noexcept {
  if (retire(word, phase)) {
    contradictions_.fetch_add(1, std::memory_order_relaxed);
  }
}

void RawClock::publish(std::uint64_t word, const RawLine& line, std::size_t room,
                       std::uint64_t counter) noexcept {
  const std::size_t first = 2 * room;
  const std::size_t spare = slot_of(word) == first ? first + 1 : first;
  const RawSlot& last = slots_[slot_of(word)];
  const std::uint64_t held = phase_of(word) == Phase::kHeld
                                 ? last.line().value(last.due.load(std::memory_order_acquire))
                                 : last.held.load(std::memory_order_acquire);
  raise_to(largest_bound_, line.bound);
  const std::uint64_t apart = largest_bound_.load(std::memory_order_acquire) + line.bound;
  RawSlot& slot = slots_[spare];
  const std::uint64_t live = next(word, spare, Phase::kLive);
  slot.start.store(RawSlot::unknown(version_of(live)), std::memory_order_release);
  slot.end.store(RawSlot::unknown(version_of(live)), std::memory_order_release);
  slot.checked.store(counter, std::memory_order_release);
  slot.due.store(std::min(counter + line.cycles_of(kRecheck), line.limit),
                 std::memory_order_release);
  slot.gate.store(line.cycles_of(apart + kOutOfOrder), std::memory_order_release);
  slot.held.store(held, std::memory_order_release);
  slot.shared_line.assign(line);
  if (word_.compare_exchange_strong(word, live)) {
    fruitless_.store(0, std::memory_order_relaxed);
  }
}

void RawClock::restart(RawFit& fit) noexcept {
  fit.reset(tick_ns_.load(std::memory_order_relaxed));
  restarts_.fetch_add(1);
  fruitless_.fetch_add(1, std::memory_order_relaxed);
}

void RawClock::learn(const Call& call) noexcept {
  if (!is_counted(call.has_before, call.sample.before) ||
      !is_counted(call.has_after, call.sample.after) || has_given_up()) {
    return;
  }
  const Lock lock = try_lock(call.sample.after);
  if (lock.stamp == 0) {
    return;
  }
  // News from before a restart would only contradict what has been learnt since.
  if (call.restarts == restarts_.load(std::memory_order_acquire)) {
    learn_locked(fits_[lock.room], lock, call.sample);
  }
  unlock(lock);
}

void RawClock::learn_locked(RawFit& fit, const Lock& lock, const RawSample& sample) noexcept {
  const FitStep step = fit.add(sample);
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  if (step == FitStep::kContradicted) {
    restart(fit);
    fit.add(sample);
    if (phase_of(word) == Phase::kLive) {
      const RawLine line = slots_[slot_of(word)].line();
      const bool told = !line.same_regime(sample.before) || !line.same_regime(sample.after);
      contradict(word, told ? Phase::kRetired : Phase::kHeld);
    }
    return;
  }
  if (step == FitStep::kUseless) {
    return;
  }
  samples_.store(fit.samples(), std::memory_order_relaxed);
  kind_.store(fit.is_exact() ? 1 : fit.is_rounding() ? 2 : 0, std::memory_order_relaxed);
  if (phase_of(word) == Phase::kLive) {
    if (slot_of(word) / 2 == lock.room) {
      keep_or_refit(fit, lock, word, sample);
    } else {
      retire(word, Phase::kRetired);  // a lost writer's: this fit knows nothing about it
    }
    return;
  }
  const RawSlot& last = slots_[slot_of(word)];
  const bool held = phase_of(word) == Phase::kHeld &&
                    sample.ns < last.line().value(last.due.load(std::memory_order_acquire));
  if (!held && fit.is_ready()) {
    publish(word, fit.line(), lock.room, sample.after.counter);
  }
}

void RawClock::keep_or_refit(const RawFit& fit, const Lock& lock, std::uint64_t word,
                             const RawSample& sample) noexcept {
  RawSlot& slot = slots_[slot_of(word)];
  const RawLine line = slot.line();
  const std::uint64_t counter = sample.after.counter;
  const std::uint64_t due = counter + line.cycles_of(kRecheck);
  if (fit.is_ready()) {
    const RawLine fitted = fit.line();
    const bool better = fitted.bound < line.bound - line.bound / 4;
    const bool needed = due > line.limit && fitted.limit > line.limit;
    if (better || needed) {
      if (retire(word, Phase::kRetired)) {
        publish(next(word, slot_of(word), Phase::kRetired), fitted, lock.room, counter);
      }
      return;
    }
  }
  if (sample.width() <= fit.tightest() * kProofWidths) {
    raise_to(slot.checked, counter);
    raise_to(slot.due, std::min(due, line.limit));
  }
}

}  // namespace vvarclock::serve
