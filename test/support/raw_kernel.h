// A simulated kernel without a raw record in its page: a counter, ticks, the page, and the system
// call for CLOCK_MONOTONIC_RAW, which takes time.
//
// Of both kinds: "exact" keeps the raw clock in shifted nanoseconds, "rounding" (before 4.12) adds
// whole nanoseconds at each tick. Ticks may be late, and are then accumulated in steps of powers of
// two. The clock can be stepped, the machine suspended, the clock source changed. Whatever takes
// time may be interrupted: the hook runs there, and may make calls of its own, as another thread or
// a signal handler would.
//
// Not for several real threads. Depends on core/vvar for the rule of mult and shift only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>

#include "core/vvar/mult_rule.h"
#include "core/vvar/raw_line.h"
#include "test/support/random.h"

namespace vvarclock::test {

struct RawKernelConfig {
  std::uint32_t khz = 3'000'000;
  std::uint32_t hz = 250;
  bool rounds = false;
  std::uint32_t call_ns = 200;       // a quick system call; drifts up to three times
  std::uint32_t preempt_one_in = 0;  // of the places where time passes; up to 20 ms each
  std::uint32_t late_one_in = 0;     // ticks
  std::uint32_t most_late = 4;       // ticks
};

class RawKernel {
 public:
  explicit RawKernel(const RawKernelConfig& config, Random& random)
      : config_(config), random_(random) {
    set_source(config.khz);
    set_latency(config.call_ns / 2, config.call_ns / 2);
    mult_ = raw_.mult + static_cast<std::uint32_t>(random_.below(raw_.mult / 4000));
    now_ = random_.u64() >> 20;
    raw_ns_ = random_.below(1'000'000'000'000'000);
    cycle_last_ = now_;
    next_tick_ = now_ + tick_;
  }

  std::function<void()> hook;  // wherever time passes in a page read or a system call

  // The kernel's answer at this counter, as the page stands now.
  [[nodiscard]] std::uint64_t truth_at(std::uint64_t counter) const {
    const arch::Uint128 moved = arch::Uint128{counter - cycle_last_} * raw_.mult + fraction_;
    return raw_ns_ + static_cast<std::uint64_t>(moved >> raw_.shift);
  }
  [[nodiscard]] std::uint64_t truth() const { return truth_at(now_); }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  [[nodiscard]] std::uint32_t tick_ns() const { return 1'000'000'000 / config_.hz; }
  [[nodiscard]] vvar::MultShift raw() const { return raw_; }
  // By how much this kernel itself has ever stepped back at once: late ticks on rounding kernels.
  [[nodiscard]] std::uint64_t own_step_back() const { return own_step_back_; }
  [[nodiscard]] std::uint64_t system_calls() const { return system_calls_; }

  [[nodiscard]] std::uint64_t cycles(std::uint64_t ns) const {
    return static_cast<std::uint64_t>(arch::Uint128{ns} * config_.khz / 1'000'000) + 1;
  }

  void pass(std::uint64_t ns) { pass_cycles(cycles(ns)); }

  // What the kernel's page shows, with the counter read in the same sequence section.
  void read_page(vvar::RawPage& page) {
    pass_cycles(random_.below(cycles(10)));
    page = {mode_, mult_, raw_.shift, cycle_last_, mode_ == arch::kModeTsc ? now_ : 0};
  }

  std::uint64_t system_call() {
    ++system_calls_;
    latency(entry_ns_);
    const std::uint64_t ns = truth();
    latency(exit_ns_);
    return ns;
  }

  // How long the ways into and out of the kernel take at least.
  void set_latency(std::uint32_t entry_ns, std::uint32_t exit_ns) {
    entry_ns_ = entry_ns;
    exit_ns_ = exit_ns;
  }

  void interrupted() {
    if (config_.preempt_one_in != 0 && random_.below(config_.preempt_one_in) == 0) {
      pass(random_.below(random_.below(4) == 0 ? 20'000'000 : 20'000));
    }
    if (hook) {
      hook();
    }
  }

  // settimeofday and its like: the raw clock goes on, cycle_last leaves the lattice.
  void step_clock() {
    accumulate(now_ - cycle_last_);
    next_tick_ = now_ + tick_;
  }
  // The counter runs on, the raw clock does not.
  void suspend(std::uint64_t ns) {
    step_clock();
    now_ += cycles(ns);
    cycle_last_ = now_;
    next_tick_ = now_ + tick_;
  }
  // The counter starts from nothing.
  void suspend_and_lose_counter() {
    step_clock();
    now_ = cycles(5'000'000'000 + random_.below(1'000'000'000));
    cycle_last_ = now_;
    next_tick_ = now_ + tick_;
  }
  // Another clock source for so long, whose nanosecond is `ppm` longer; the counter runs on. khz:
  // of the counter from then on.
  void change_source(std::uint64_t ns, std::uint64_t ppm, std::uint32_t khz,
                     const std::function<void()>& meanwhile) {
    step_clock();
    mode_ = arch::kModeNone;
    meanwhile();
    step_clock();
    raw_ns_ += ns - ns * ppm / 1'000'000;
    now_ += cycles(ns);
    mode_ = arch::kModeTsc;
    set_source(khz);
    cycle_last_ = now_;
    next_tick_ = now_ + tick_;
  }
  // What no kernel does: the clock jumps and the page does not tell.
  void jump_unseen(std::int64_t ns) { raw_ns_ += static_cast<std::uint64_t>(ns); }
  // Nor this: another rate, on the same lattice.
  void bend_unseen(std::int32_t mult_change) {
    const std::uint64_t pending = now_ - cycle_last_;
    raw_ns_ += ((pending * raw_.mult) >> raw_.shift) -
               ((pending * (raw_.mult + static_cast<std::uint32_t>(mult_change))) >> raw_.shift);
    raw_.mult += static_cast<std::uint32_t>(mult_change);
  }

 private:
  void set_source(std::uint32_t khz) {
    config_.khz = khz;
    raw_ = vvar::expected_mult_shift(khz);
    mult_ = raw_.mult;
    fraction_ = 0;
    tick_ = ((std::uint64_t{tick_ns()} << raw_.shift) + raw_.mult / 2) / raw_.mult;
  }

  void pass_cycles(std::uint64_t cycles) {
    const std::uint64_t end = now_ + cycles;
    while (next_tick_ <= end) {
      now_ = next_tick_;
      do_tick();
    }
    now_ = end;
  }

  void do_tick() {
    const std::uint64_t before = truth();
    while (now_ - cycle_last_ >= tick_) {
      const auto ticks = std::bit_floor((now_ - cycle_last_) / tick_);
      accumulate(tick_ * ticks, ticks);
    }
    own_step_back_ = std::max(own_step_back_, before - std::min(before, truth()));
    // The page's update lags the end of the tick a little: an interrupt has to come in.
    next_tick_ = cycle_last_ + tick_ + random_.below(tick_ / 100);
    if (config_.late_one_in != 0 && random_.below(config_.late_one_in) == 0) {
      next_tick_ += tick_ * random_.below(config_.most_late + 1);
    }
  }

  void accumulate(std::uint64_t cycles, std::uint64_t ticks = 1) {
    if (config_.rounds) {
      raw_ns_ += ticks * static_cast<std::uint64_t>((arch::Uint128{cycles / ticks} * raw_.mult) >>
                                                    raw_.shift);
    } else {
      const arch::Uint128 sum = arch::Uint128{cycles} * raw_.mult + fraction_;
      raw_ns_ += static_cast<std::uint64_t>(sum >> raw_.shift);
      fraction_ = static_cast<std::uint64_t>(sum) & ((std::uint64_t{1} << raw_.shift) - 1);
    }
    cycle_last_ += cycles;
  }

  // Half of a system call. Its speed drifts: frequency, caches, other CPUs.
  void latency(std::uint32_t quick_ns) {
    interrupted();
    const std::uint64_t phase = (now_ >> 33) & 7;
    const std::uint64_t least = std::uint64_t{quick_ns} * (4 + std::min(phase, 8 - phase)) / 4;
    std::uint64_t ns = least + random_.below(least / 4 + 1);
    if (random_.below(16) == 0) {
      ns += random_.below(5 * least);
    }
    pass(ns);
    interrupted();
  }

  RawKernelConfig config_;
  Random& random_;
  vvar::MultShift raw_{};
  std::uint32_t mult_ = 0;
  arch::ClockMode mode_ = arch::kModeTsc;
  std::uint64_t now_ = 0;
  std::uint64_t cycle_last_ = 0;
  std::uint64_t next_tick_ = 0;
  std::uint64_t tick_ = 1;
  std::uint64_t raw_ns_ = 0;    // at cycle_last
  std::uint64_t fraction_ = 0;  // shifted; exact kernels only
  std::uint32_t entry_ns_ = 0;
  std::uint32_t exit_ns_ = 0;
  std::uint64_t own_step_back_ = 0;
  std::uint64_t system_calls_ = 0;
};

}  // namespace vvarclock::test
