// Jumps of the wall clock that a program makes: steps, slews, the TAI offset, leap seconds.
#include <errno.h>
#include <sys/timex.h>

#include <array>
#include <string>

#include "test/kernels/guest/scenarios.h"

namespace guest {
namespace {

constexpr Nanoseconds kDay = 86400 * kSecond;

enum class Way : std::uint8_t { kSettime, kSettimeofday, kSetOffset };

timespec in_timespec(Nanoseconds ns) noexcept {
  return {ns / kSecond, static_cast<long>(ns % kSecond)};
}

int add_offset(Nanoseconds distance) noexcept {
  timex change{};
  change.modes = ADJ_SETOFFSET | ADJ_NANO;
  change.time.tv_sec = distance / kSecond;
  change.time.tv_usec = distance % kSecond;
  if (change.time.tv_usec < 0) {
    change.time.tv_sec -= 1;
    change.time.tv_usec += kSecond;
  }
  return adjtimex(&change) < 0 ? -1 : 0;
}

int move_wall_clock(Way way, Nanoseconds distance) noexcept {
  const Nanoseconds target = by_syscall(CLOCK_REALTIME) + distance;
  switch (way) {
    case Way::kSettime: {
      const timespec time = in_timespec(target);
      return clock_settime(CLOCK_REALTIME, &time);
    }
    case Way::kSettimeofday: {
      const timeval time{target / kSecond, target % kSecond / 1000};
      return settimeofday(&time, nullptr);
    }
    case Way::kSetOffset:
      return add_offset(distance);
  }
  return -1;
}

// Announced to the readers. A failure names what was tried.
void adjust(const Stage& stage, const timex& wanted, const char* what) {
  timex change = wanted;
  const Readers::Step step(stage.readers);
  if (adjtimex(&change) < 0) {
    stage.result.fail("adjtimex, %s: %s", what, std::strerror(errno));
  }
}

timex with(unsigned modes, long value) noexcept {
  timex change{};
  change.modes = modes;
  switch (modes) {
    case ADJ_TICK:
      change.tick = value;
      break;
    case ADJ_FREQUENCY:
      change.freq = value;
      break;
    case ADJ_STATUS:
      change.status = static_cast<int>(value);
      break;
    case ADJ_TAI:
      change.constant = value;
      break;
    default:
      change.offset = value;
      break;
  }
  return change;
}

int tai_offset() noexcept {
  timex state{};
  adjtimex(&state);
  return state.tai;
}

// Sets the clock to a few seconds before midnight (UTC), asks for a leap and waits until the first
// seconds of the new day are over. True: it came; a busy machine can be too late to ask.
bool try_leap(const Stage& stage, const char* name, int status, int tai_change) {
  const Nanoseconds midnight = (by_syscall(CLOCK_REALTIME) / kDay + 1) * kDay;
  const int tai = tai_offset();
  {
    const Readers::Step step(stage.readers);
    const timespec eve = in_timespec(midnight - 4 * kSecond);
    if (clock_settime(CLOCK_REALTIME, &eve) != 0) {
      stage.result.fail("%s: clock_settime: %s", name, std::strerror(errno));
    }
  }
  adjust(stage, with(ADJ_STATUS, status), name);
  while (by_syscall(CLOCK_REALTIME) < midnight + 2 * kSecond) {
    sleep_for(100 * kMillisecond);
  }
  const bool came = tai_offset() == tai + tai_change;
  adjust(stage, with(ADJ_STATUS, 0), name);
  sleep_for(2 * kSecond);  // a leap is forgotten only when a second ends without one asked for
  return came;
}

void leap(const Stage& stage, const char* name, int status, int tai_change) {
  stage.readers.start(name, Readers::Jumps::kLeap);
  bool came = false;
  for (int i = 0; i < 3 && !came; ++i) {
    came = try_leap(stage, name, status, tai_change);
  }
  if (!came) {
    stage.result.fail("%s: no leap has come", name);
  }
  stage.readers.stop();
}

}  // namespace

void step_wall_clock(const Stage& stage) {
  constexpr std::array<Nanoseconds, 6> kDistances{1000,    kMillisecond,   300 * kMillisecond,
                                                  kSecond, 3601 * kSecond, 20 * 365 * kDay};
  constexpr std::array kWays{Way::kSettime, Way::kSettimeofday, Way::kSetOffset};
  stage.readers.start("steps", Readers::Jumps::kSteps);
  for (int round = 0; round < 10; ++round) {
    for (const Nanoseconds distance : kDistances) {
      for (const Nanoseconds signed_distance : {distance, -distance}) {
        const Way way = kWays[static_cast<std::size_t>(round) % kWays.size()];
        int status = 0;
        {
          const Readers::Step step(stage.readers);
          status = move_wall_clock(way, signed_distance);
        }
        if (status != 0) {
          stage.result.fail("steps: by %lld ns: %s", static_cast<long long>(signed_distance),
                            std::strerror(errno));
        }
        sleep_for(20 * kMillisecond);
      }
    }
  }
  stage.readers.stop();
}

void slew(const Stage& stage) {
  constexpr long kHz = 100;                  // USER_HZ: a tick of ADJ_TICK
  constexpr long kTick = 1'000'000 / kHz;    // us
  constexpr long kMostFrequency = 32768000;  // 500 ppm, 16 bits after the point
  constexpr long kOffset = 400'000;          // us
  struct Slew {
    unsigned modes;
    long value;
  };
  constexpr std::array kSlews{Slew{ADJ_TICK, kTick + kTick / 10},
                              Slew{ADJ_TICK, kTick - kTick / 10},
                              Slew{ADJ_TICK, kTick},
                              Slew{ADJ_FREQUENCY, kMostFrequency},
                              Slew{ADJ_FREQUENCY, -kMostFrequency},
                              Slew{ADJ_FREQUENCY, 0},
                              Slew{ADJ_STATUS, STA_PLL},
                              Slew{ADJ_OFFSET, kOffset},
                              Slew{ADJ_OFFSET, -kOffset},
                              Slew{ADJ_OFFSET, 0},
                              Slew{ADJ_STATUS, 0},
                              Slew{ADJ_OFFSET_SINGLESHOT, kOffset},
                              Slew{ADJ_OFFSET_SINGLESHOT, -kOffset},
                              Slew{ADJ_OFFSET_SINGLESHOT, 0},
                              Slew{ADJ_FREQUENCY, 0}};
  stage.readers.start("slews", Readers::Jumps::kSlews);
  for (const Slew& one : kSlews) {
    adjust(stage, with(one.modes, one.value), "slew");
    sleep_for(250 * kMillisecond);
  }
  stage.readers.stop();
}

void change_tai_offset(const Stage& stage) {
  stage.readers.start("TAI offset", Readers::Jumps::kSteps);
  for (const long offset : {37L, 0L, 10L, 36L, 38L, 37L}) {
    adjust(stage, with(ADJ_TAI, offset), "TAI offset");
    const Nanoseconds before = by_call(CLOCK_REALTIME);
    const Nanoseconds tai = by_call(CLOCK_TAI);
    const Nanoseconds after = by_call(CLOCK_REALTIME);
    if (tai - offset * kSecond < before || tai - offset * kSecond > after) {
      stage.result.fail("TAI offset %ld: TAI is ahead by %lld ns", offset,
                        static_cast<long long>(tai - before));
    }
    sleep_for(100 * kMillisecond);
  }
  stage.readers.stop();
}

void insert_leap_second(const Stage& stage) { leap(stage, "leap second inserted", STA_INS, 1); }
void delete_leap_second(const Stage& stage) { leap(stage, "leap second deleted", STA_DEL, -1); }

}  // namespace guest
