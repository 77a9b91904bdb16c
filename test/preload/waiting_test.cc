// Guards against: a program that sleeps until a moment, wakes, and reads a clock that is not there
// yet.
//
// Deadlines are computed from own readings: the kernel waits for a moment of its own clock, or for
// a span that begins after the reading. After the wake-up the own reading is not before the
// deadline. That is to hold in every order: the waiting is a system call in the same thread, and
// neither the counter's reading before it nor the one behind it can pass it by more than the call
// itself takes. (What an unordered reading does not promise is its place among another thread's
// readings: handover_test.) How late a wake-up comes is nobody's promise, so nothing bounds it.
// Argument: rounds per wait.
#include <algorithm>

#include "test/preload/waits.h"
#include "test/support/clock_calls.h"

namespace vvarclock::process {
namespace {

// In the past, at once, sooner than a system call takes, and long enough to sleep.
constexpr std::array<std::int64_t, 6> kAhead{-1'000'000, 0, 300, 20'000, 150'000, 1'100'000};

timespec to_timespec(std::int64_t ns) {
  return {static_cast<time_t>(ns / kNsPerSec), static_cast<long>(ns % kNsPerSec)};
}

const Call& call_of(clockid_t clock) {
  const auto reads = [clock](const Call& call) {
    return (clock == CLOCK_REALTIME && call.own == own_clock<CLOCK_REALTIME>) ||
           (clock == CLOCK_MONOTONIC && call.own == own_clock<CLOCK_MONOTONIC>) ||
           (clock == CLOCK_BOOTTIME && call.own == own_clock<CLOCK_BOOTTIME>) ||
           (clock == CLOCK_TAI && call.own == own_clock<CLOCK_TAI>);
  };
  const auto* const found = std::find_if(kCalls.begin(), kCalls.end(), reads);
  expect(found != kCalls.end(), "clock %d is not read here", clock);
  return *found;
}

std::int64_t whole_units(std::int64_t ns, std::int64_t unit) { return ns / unit * unit; }

// True when the wait ended because its time was up; then it was not too early.
bool wait_once(const Wait& wait, const Call& call, std::int64_t ahead,
               const WallClockWatch& watch) {
  const bool span = wait.kind == Deadline::kSpan;
  const std::int64_t begin = call.own();
  const std::int64_t length = span ? whole_units(std::max<std::int64_t>(ahead, 0), wait.unit) : 0;
  const std::int64_t deadline = span ? begin + length : whole_units(begin + ahead, wait.unit);
  if (!wait.until(to_timespec(span ? length : deadline))) {
    return false;
  }
  const std::int64_t awake = call.own();
  expect(awake >= deadline || (call.settable && watch.was_set()),
         "%s: awake %lld ns before its deadline (asked for %+lld ns at %lld)", wait.name,
         static_cast<long long>(deadline - awake), static_cast<long long>(ahead),
         static_cast<long long>(begin));
  return true;
}

void check(const Wait& wait, long rounds) {
  const Call& call = call_of(wait.clock);
  long up = 0;
  for (long i = 0; i < rounds; ++i) {
    const WallClockWatch watch;
    for (const std::int64_t ahead : kAhead) {
      up += wait_once(wait, call, ahead, watch) ? 1 : 0;
    }
  }
  expect(up > 0, "%s: no wait ended with its time up, so nothing was shown", wait.name);
  note("%s: %ld waits, none awake before its deadline", wait.name, up);
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  const long rounds = repetitions(argc, argv, 20, 300);
  for (const Wait& wait : kWaits) {
    check(wait, rounds);
  }
  return 0;
}
