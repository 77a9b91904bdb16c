// The inside of a raw clock, for tests that play another writer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/serve/raw_clock.h"
#include "test/support/catch.h"

namespace vvarclock::serve {

// Plays a writer that took the lock and was lost, and one that publishes on its own.
struct RawClockProbe {
  static void lose_writer(RawClock& clock, std::uint64_t counter) { clock.lock_ = counter | 1; }
  static std::size_t room(const RawClock& clock) { return clock.room_; }

  // Live, and nobody has settled from where?
  static bool awaits_start(const RawClock& clock) {
    return RawClock::phase_of(clock.word_) == RawClock::Phase::kLive &&
           !RawSlot::is_known(start(clock));
  }
  static std::uint64_t start(const RawClock& clock) { return slot(clock).start; }
  static bool awaits_end(const RawClock& clock) {
    return RawClock::phase_of(clock.word_) == RawClock::Phase::kRetired &&
           !RawSlot::is_known(end(clock));
  }
  static std::uint64_t end(const RawClock& clock) { return slot(clock).end; }
  static std::uint64_t due(const RawClock& clock) { return slot(clock).due; }
  static std::uint64_t gate(const RawClock& clock) { return slot(clock).gate; }
  static std::size_t place(const RawClock& clock) { return RawClock::slot_of(clock.word_); }
  static void retire(RawClock& clock) {
    REQUIRE(clock.retire(clock.word_, RawClock::Phase::kRetired));
  }
  // The line that was retired, in the other slot.
  static void publish_again(RawClock& clock, std::uint64_t counter) {
    clock.publish(clock.word_, slot(clock).line(), clock.room_, counter);
  }

 private:
  static const RawSlot& slot(const RawClock& clock) { return clock.slots_[place(clock)]; }
};

}  // namespace vvarclock::serve
