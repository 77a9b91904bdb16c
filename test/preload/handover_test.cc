// Guards against: a time stamp that is smaller than one that another thread had already handed
// over, in an ordered mode; and an order switch that switches nothing.
//
// A writer on one CPU publishes its time without pause; a reader on another takes what is published
// and then reads the clock itself. A read that may pass the earlier load comes back smaller now and
// then. A bare rdtsc in the same loop shows whether this machine, now, lets that be seen; only then
// does the comparison count. Argument: reads.
#include <atomic>
#include <thread>

#include "arch/x86/rdtsc.h"
#include "test/support/clock_calls.h"
#include "test/support/clock_filter.h"

namespace vvarclock::process {
namespace {

constexpr long kMostTries = 40'000'000;
constexpr long kShown =
    200;  // that many steps back by the bare counter, and the machine has shown itself

struct BareCounter {
  static std::int64_t now() { return static_cast<std::int64_t>(arch::UnorderedTsc::read()); }
};
struct OwnClock {
  static std::int64_t now() { return own_clock<CLOCK_MONOTONIC>(); }
};

struct HandOver {
  long reads = 0;
  long steps_back = 0;
  std::int64_t largest = 0;  // in the clock's unit
};

// The stamp on a line of its own.
struct alignas(128) Slot {
  std::atomic<std::int64_t> stamp{0};
  std::atomic<bool> stop{false};
};

template <class Clock>
HandOver hand_over(int writer_cpu, int reader_cpu, long least, long most, long enough_steps) {
  Slot slot;
  std::thread writer([&slot, writer_cpu] {
    pin(writer_cpu);
    while (!slot.stop.load(std::memory_order_relaxed)) {
      slot.stamp.store(Clock::now(), std::memory_order_release);
    }
  });
  pin(reader_cpu);
  HandOver seen;
  while (seen.reads < most && (seen.reads < least || seen.steps_back < enough_steps)) {
    const std::int64_t handed = slot.stamp.load(std::memory_order_acquire);
    const std::int64_t now = Clock::now();
    ++seen.reads;
    if (now < handed) {
      ++seen.steps_back;
      seen.largest = handed - now > seen.largest ? handed - now : seen.largest;
    }
  }
  slot.stop.store(true, std::memory_order_relaxed);
  writer.join();
  return seen;
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) {
    skip("one CPU only: no two threads run at once");
  }
  const long least = repetitions(argc, argv, 2'000'000, 20'000'000);

  const HandOver own =
      hand_over<OwnClock>(cpus[0], cpus[1], least, is_unordered() ? kMostTries : least, 1);
  note("%s clock: %ld reads, %ld steps back, largest %lld ns", order().data(), own.reads,
       own.steps_back, static_cast<long long>(own.largest));
  if (!is_unordered()) {
    expect(own.steps_back == 0,
           "order %s: %ld of %ld reads were before a stamp that had been handed over, by up to "
           "%lld ns",
           order().data(), own.steps_back, own.reads, static_cast<long long>(own.largest));
  }

  const HandOver bare = hand_over<BareCounter>(cpus[0], cpus[1], 0, kMostTries, kShown);
  note("bare rdtsc: %ld reads, %ld steps back, largest %lld ticks", bare.reads, bare.steps_back,
       static_cast<long long>(bare.largest));
  if (bare.steps_back < kShown) {
    skip(
        "the clock passed, but a bare rdtsc stepped back in only %ld of %ld tries here, so nothing "
        "compares",
        bare.steps_back, bare.reads);
  }
  if (is_unordered() && own.steps_back == 0) {
    if (!kernel_serves_by_itself()) {
      skip("%s", kNoClockMode);
    }
    fail(
        "the unordered clock never stepped back in %ld reads, a bare rdtsc did so %ld times in "
        "%ld: is it ordered?",
        own.reads, bare.steps_back, bare.reads);
  }
  return 0;
}
