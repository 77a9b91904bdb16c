// The rules of the simulated timekeeper. Integer arithmetic throughout; wide where a product may be
// wide.
#include "test/support/timekeeper.h"

#include <algorithm>
#include <bit>

namespace vvarclock::test {
namespace {

// Cycles since cycle_last as the kernel counts them: masked, and a counter that is behind counts as
// standing still.
std::uint64_t cycles_since(const Times& times, std::uint64_t cycles) noexcept {
  const std::uint64_t delta = (cycles - times.cycle_last) & times.source.mask;
  const bool behind = (delta & ~(times.source.mask >> 1)) != 0;
  return behind ? 0 : delta;
}

Int128 grown_ns(std::uint64_t sec, std::uint64_t snsec, std::uint64_t delta, std::uint32_t mult,
                std::uint32_t shift) noexcept {
  const Int128 shifted = Int128{snsec} + Int128{delta} * mult;
  return Int128{sec} * kSecond + (shifted >> shift);
}

std::uint64_t one_second(const Times& times) noexcept {
  return std::uint64_t{kSecond} << times.shift;
}

}  // namespace

Rate expected_rate(std::uint64_t hz, std::uint64_t mask) noexcept {
  std::uint64_t seconds = std::max<std::uint64_t>(1, mask / hz);
  if (seconds > 600 && mask > 0xffffffffU) {
    seconds = 600;
  }
  // These cycles need 32 + excess bits, so mult may have 32 - excess.
  const auto excess = static_cast<std::uint32_t>(std::bit_width((seconds * hz) >> 32));
  for (std::uint32_t shift = 32; shift > 0; --shift) {
    const Int128 mult = ((Int128{kSecond} << shift) + hz / 2) / hz;
    if ((mult >> (32 - excess)) == 0) {
      return {static_cast<std::uint32_t>(mult), shift};
    }
  }
  return {0, 0};
}

std::uint64_t expected_max_cycles(std::uint32_t own_mult) noexcept {
  const std::uint64_t steepest = std::uint64_t{own_mult} + std::uint64_t{own_mult} * 11 / 100;
  return ~std::uint64_t{0} / steepest;
}

Int128 time_ns(const Times& t, vvar::ClockId id, std::uint64_t cycles) noexcept {
  const std::uint64_t delta = cycles_since(t, cycles);
  const Int128 to_monotonic = Int128{t.to_monotonic_sec} * kSecond + t.to_monotonic_nsec;
  const Int128 realtime = grown_ns(t.sec, t.snsec, delta, t.mult, t.shift);
  const Int128 coarse = Int128{t.sec} * kSecond + t.coarse_nsec;
  switch (id) {
    case vvar::kRealtime:
      return realtime;
    case vvar::kMonotonic:
      return realtime + to_monotonic;
    case vvar::kMonotonicRaw:
      return grown_ns(t.raw_sec, t.raw_snsec, delta, t.raw_mult, t.shift);
    case vvar::kRealtimeCoarse:
      return coarse;
    case vvar::kMonotonicCoarse:
      return coarse + to_monotonic;
    case vvar::kBoottime:
      return realtime + to_monotonic + t.slept_ns;
    case vvar::kTai:
      return realtime + Int128{t.tai_offset} * kSecond;
    default:
      return -1;
  }
}

Timekeeper::Timekeeper(const ClockSource& source, std::uint64_t cycles,
                       std::uint64_t realtime_sec) noexcept {
  use(source, cycles);
  times_.sec = realtime_sec;
  times_.snsec = std::uint64_t{123'456'789} << times_.shift;
  times_.raw_sec = 1000;
  times_.raw_snsec = (std::uint64_t{7'654'321} << times_.shift) + 5;
  times_.to_monotonic_sec = 1000 - static_cast<std::int64_t>(realtime_sec);
  times_.to_monotonic_nsec = 987'654'321;
  times_.tai_offset = 37;
  update_coarse();
}

void Timekeeper::use(const ClockSource& source, std::uint64_t cycles) noexcept {
  const Rate rate = expected_rate(source.hz, source.mask);
  times_.source = source;
  times_.cycle_last = cycles;
  times_.mult = rate.mult;
  times_.raw_mult = rate.mult;
  times_.shift = rate.shift;
  tick_cycles_ = (source.hz + kTicksPerSecond / 2) / kTicksPerSecond;
}

void Timekeeper::round_raw(bool round) noexcept {
  whole_raw_ns_ = round;
  if (round) {
    times_.raw_snsec = times_.raw_snsec >> times_.shift << times_.shift;
  }
}

// Shifted nanoseconds.
Int128 Timekeeper::raw_growth(std::uint64_t delta) const noexcept {
  const auto whole = [&](std::uint64_t cycles) {
    return (Int128{cycles} * times_.raw_mult) >> times_.shift << times_.shift;
  };
  return whole_raw_ns_ ? whole(tick_cycles_) * (delta / tick_cycles_) + whole(delta % tick_cycles_)
                       : Int128{delta} * times_.raw_mult;
}

void Timekeeper::accumulate(std::uint64_t delta) noexcept {
  Times& t = times_;
  t.cycle_last = (t.cycle_last + delta) & t.source.mask;
  const Int128 second = one_second(t);
  const Int128 now = Int128{t.snsec} + Int128{delta} * t.mult;
  const Int128 raw = Int128{t.raw_snsec} + raw_growth(delta);
  const std::uint64_t before = t.sec;
  t.sec += static_cast<std::uint64_t>(now / second);
  t.snsec = static_cast<std::uint64_t>(now % second);
  t.raw_sec += static_cast<std::uint64_t>(raw / second);
  t.raw_snsec = static_cast<std::uint64_t>(raw % second);
  if (leap_at_ != 0 && before < leap_at_ && t.sec >= leap_at_) {
    leap_at_ = 0;
    --t.sec;
    ++t.to_monotonic_sec;
    ++t.tai_offset;
    ++t.sets;
  }
}

void Timekeeper::tick(std::uint64_t cycles) noexcept {
  const std::uint64_t delta = cycles_since(times_, cycles);
  accumulate(delta - delta % tick_cycles_);
  if (delta >= tick_cycles_ || !coarse_apart_) {
    update_coarse();
  }
}

void Timekeeper::forward(std::uint64_t cycles) noexcept {
  accumulate(cycles_since(times_, cycles));
  update_coarse();
}

void Timekeeper::slew(std::uint64_t cycles, std::uint32_t mult) noexcept {
  tick(cycles);
  // The rest of the interval was shown with the old mult: the base gives back what the new one
  // adds.
  const Int128 rest = cycles_since(times_, cycles);
  const Int128 base = Int128{times_.snsec} - rest * (Int128{mult} - times_.mult);
  if (base < 0 || base >= one_second(times_)) {
    forward(cycles);
  } else {
    times_.snsec = static_cast<std::uint64_t>(base);
  }
  times_.mult = mult;
  if (!coarse_apart_) {
    update_coarse();
  }
}

void Timekeeper::shift_realtime(std::int64_t ns) noexcept {
  const Int128 second = kSecond;
  const Int128 low_bits = times_.snsec & ((std::uint64_t{1} << times_.shift) - 1);
  const Int128 realtime = grown_ns(times_.sec, times_.snsec, 0, 0, times_.shift) + ns;
  times_.sec = static_cast<std::uint64_t>(realtime / second);
  times_.snsec = static_cast<std::uint64_t>(((realtime % second) << times_.shift) + low_bits);
  const Int128 offset = Int128{times_.to_monotonic_sec} * kSecond + times_.to_monotonic_nsec - ns;
  const Int128 nsec = ((offset % second) + second) % second;
  times_.to_monotonic_nsec = static_cast<std::int64_t>(nsec);
  times_.to_monotonic_sec = static_cast<std::int64_t>((offset - nsec) / second);
  ++times_.sets;
  update_coarse();
}

void Timekeeper::step(std::uint64_t cycles, std::int64_t ns) noexcept {
  forward(cycles);
  leap_at_ = 0;
  shift_realtime(ns);
}

void Timekeeper::set_tai_offset(std::uint64_t cycles, std::int64_t seconds) noexcept {
  forward(cycles);
  times_.tai_offset = seconds;
  ++times_.sets;
}

void Timekeeper::slept(std::uint64_t cycles, std::int64_t ns) noexcept {
  shift_realtime(ns);
  times_.slept_ns += ns;
  times_.cycle_last = cycles;
}

void Timekeeper::change_source(std::uint64_t old_cycles, const ClockSource& source,
                               std::uint64_t new_cycles) noexcept {
  forward(old_cycles);
  const std::uint32_t old_shift = times_.shift;
  use(source, new_cycles);
  const auto rescale = [&](std::uint64_t value) {
    return times_.shift < old_shift ? value >> (old_shift - times_.shift)
                                    : value << (times_.shift - old_shift);
  };
  times_.snsec = rescale(times_.snsec);
  times_.raw_snsec = rescale(times_.raw_snsec);
  update_coarse();
}

}  // namespace vvarclock::test
