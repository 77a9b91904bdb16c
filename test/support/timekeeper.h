// A simulated timekeeper: what a kernel knows about time, and the reference answer of its system
// call.
//
// The state is a plain copyable struct, so that a test can take it away and ask it later. The
// reference is computed in 128-bit nanoseconds from that state; it shares no arithmetic with the
// readers under test.
//
// Knows no page, no layout and no hypervisor: cycles are handed in. Not for several threads
// (FakeKernel publishes copies).
#pragma once

#include <cstdint>

#include "arch/int128.h"
#include "arch/x86/clock_mode.h"
#include "core/vvar/clock_id.h"

namespace vvarclock::test {

using arch::Int128;

inline constexpr std::int64_t kSecond = 1'000'000'000;  // ns
inline constexpr std::uint32_t kTicksPerSecond = 250;
inline constexpr std::int64_t kTickNs = kSecond / kTicksPerSecond;

struct Rate {
  std::uint32_t mult;
  std::uint32_t shift;
};

// The kernel's choice for a counter of this frequency: the largest shift up to 32 with which 600 s
// of cycles (or as many as a narrow mask holds) stay in 64 bits, and the nearest mult for it.
Rate expected_rate(std::uint64_t hz, std::uint64_t mask = ~std::uint64_t{0}) noexcept;

// The largest delta that 64 bits take with any mult NTP may choose: 11 % above the source's own.
std::uint64_t expected_max_cycles(std::uint32_t own_mult) noexcept;

struct ClockSource {
  arch::ClockMode mode;
  std::uint64_t hz;
  std::uint64_t mask;
};

// Everything that an answer depends on. "snsec" is nanoseconds shifted left by shift; the values
// hold at cycle_last.
struct Times {
  ClockSource source{};
  std::uint64_t cycle_last = 0;
  std::uint32_t mult = 0;
  std::uint32_t raw_mult = 0;  // the source's own
  std::uint32_t shift = 0;
  std::uint64_t sec = 0;  // REALTIME
  std::uint64_t snsec = 0;
  std::uint64_t raw_sec = 0;
  std::uint64_t raw_snsec = 0;
  std::uint64_t coarse_nsec = 0;      // of the last tick, in the second `sec`
  std::int64_t to_monotonic_sec = 0;  // MONOTONIC - REALTIME; the nanoseconds are 0 .. 999'999'999
  std::int64_t to_monotonic_nsec = 0;
  std::int64_t slept_ns = 0;    // BOOTTIME - MONOTONIC
  std::int64_t tai_offset = 0;  // TAI - REALTIME, seconds
  std::uint64_t sets = 0;       // how often REALTIME or TAI was set or jumped
};

// Nanoseconds of a clock at a counter value, whatever the mode. Of the ids that the page serves
// only.
Int128 time_ns(const Times& times, vvar::ClockId id, std::uint64_t cycles) noexcept;

class Timekeeper {
 public:
  Timekeeper(const ClockSource& source, std::uint64_t cycles, std::uint64_t realtime_sec) noexcept;

  [[nodiscard]] const Times& times() const noexcept { return times_; }

  // The periodic tick: takes over whole tick intervals only, so that cycle_last stays on the grid.
  void tick(std::uint64_t cycles) noexcept;
  // Takes over everything up to now, as every change from outside does first.
  void forward(std::uint64_t cycles) noexcept;
  // NTP: another mult from now on. Time does not jump.
  void slew(std::uint64_t cycles, std::uint32_t mult) noexcept;
  // settimeofday: REALTIME jumps, MONOTONIC does not.
  void step(std::uint64_t cycles, std::int64_t ns) noexcept;
  void set_tai_offset(std::uint64_t cycles, std::int64_t seconds) noexcept;
  // The second before this one happens twice in REALTIME.
  void insert_leap_second_at(std::uint64_t realtime_sec) noexcept { leap_at_ = realtime_sec; }
  // Suspended for ns: MONOTONIC and RAW stood still. cycles: at resume.
  void slept(std::uint64_t cycles, std::int64_t ns) noexcept;
  // Another source: its cycles at the same moment. NTP's mult is forgotten.
  void change_source(std::uint64_t old_cycles, const ClockSource& source,
                     std::uint64_t new_cycles) noexcept;

  // From 6.15 on, NTP does not take back what the coarse clocks have shown.
  void keep_coarse_apart(bool apart) noexcept { coarse_apart_ = apart; }
  // Before 4.12 the raw clock is kept in whole nanoseconds: each tick interval, and each rest that
  // is taken over, is rounded down on its own.
  void round_raw(bool round) noexcept;

 private:
  void use(const ClockSource& source, std::uint64_t cycles) noexcept;
  void accumulate(std::uint64_t delta) noexcept;
  [[nodiscard]] Int128 raw_growth(std::uint64_t delta) const noexcept;
  void shift_realtime(std::int64_t ns) noexcept;
  void update_coarse() noexcept { times_.coarse_nsec = times_.snsec >> times_.shift; }

  Times times_;
  std::uint64_t tick_cycles_ = 0;
  std::uint64_t leap_at_ = 0;
  bool coarse_apart_ = false;
  bool whole_raw_ns_ = false;
};

}  // namespace vvarclock::test
