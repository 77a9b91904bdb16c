// System calls between two counter reads -> a RawLine and its guaranteed error.
//
// Which mult: from the lattice of cycle_last alone (raw_line.h), a whole number, exact. That it
// fits the system calls is the independent second proof: an interval that becomes empty is a
// contradiction.
//
// Which kind of kernel: "exact" (4.12 and later, stable trees from 4.9 on) or "rounding": each tick
// adds floor(tick * mult >> shift) whole ns, so that the clock runs slow by the part that is cut
// off, below 1 ns per tick. Both are kept, each with the interval of offsets that every sample so
// far allows, until one is empty. A sample (before, ns, after) says that the kernel read its
// counter at some moment in between:
//     line(before) - 1 < ns < line(after) + rise
// where 1 is the kernel's cut to whole ns and rise what a rounding kernel's clock gains over its
// line between two updates of the page.
//
// The line that is served runs in the middle of what is allowed. Its error is at most half of the
// interval, and in practice a fraction of a system call: the two ends of the interval are the
// fastest way into and out of the kernel that was seen.
//
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/vvar/mult_rule.h"
#include "core/vvar/raw_line.h"

namespace vvarclock::vvar {

struct RawSample {
  RawPage before;
  RawPage after;
  std::uint64_t ns = 0;  // by system call, between the two counters
  [[nodiscard]] constexpr std::uint64_t width() const noexcept {
    return after.counter - before.counter;
  }
};

enum class FitStep : std::uint8_t {
  kKept,
  kUseless,       // says nothing: the bracket is too wide, or the page's update overdue
  kContradicted,  // no kernel that we know would do this: start anew
};

class RawFit {
 public:
  static constexpr std::uint32_t kSamplesToServe = 32;
  static constexpr std::uint32_t kTicksToServe = 16;
  static constexpr std::uint64_t kSpanToServe = 100'000'000;  // ns

  // Forgets everything. tick_ns: 10^9 / HZ (the resolution of the coarse clocks).
  constexpr void reset(std::uint32_t tick_ns) noexcept {
    *this = RawFit();
    tick_ns_ = tick_ns;
  }

  constexpr FitStep add(const RawSample& sample) noexcept {
    if (sample.after.counter <= sample.before.counter ||
        sample.after.shift != sample.before.shift) {
      return FitStep::kUseless;
    }
    if (samples_ == 0) {
      first_ = sample;
      samples_ = 1;
      return FitStep::kKept;
    }
    if (sample.after.shift != first_.after.shift) {
      return FitStep::kContradicted;
    }
    if (sample.before.counter < first_.before.counter) {
      // Late news from before we began, or else the counter was set back.
      return sample.ns <= first_.ns || sample.after.counter >= first_.before.counter
                 ? FitStep::kUseless
                 : FitStep::kContradicted;
    }
    return count_ == 0 ? find_tick(sample) : narrow(sample);
  }

  // One mult is left, it was watched for long enough, and the error is below what a caller of the
  // system call cannot tell anyway: the time that the fastest one took.
  [[nodiscard]] constexpr bool is_ready() const noexcept {
    return count_ != 0 && samples_ >= kSamplesToServe && ticks_ >= kTicksToServe &&
           latest_.ns - first_.ns >= kSpanToServe && one_mult() && line().bound < fastest_call_ns();
  }

  // The line as of the latest sample. Meaningful once a tick was found.
  [[nodiscard]] constexpr RawLine line() const noexcept;

  [[nodiscard]] constexpr std::uint32_t samples() const noexcept { return samples_; }
  [[nodiscard]] constexpr std::size_t models() const noexcept { return count_; }
  [[nodiscard]] constexpr std::uint64_t tightest() const noexcept { return tightest_; }  // cycles
  // Is the kind of the kernel known, and is it the one that rounds?
  [[nodiscard]] constexpr bool is_exact() const noexcept {
    return count_ == 1 && models_[0].loss == 0;
  }
  [[nodiscard]] constexpr bool is_rounding() const noexcept {
    return count_ == 1 && models_[0].loss != 0;
  }

 private:
  struct Model {
    std::uint32_t mult = 0;
    std::uint64_t rate = 0;  // parts per cycle, what the ticks lose included
    std::uint64_t loss = 0;  // parts per cycle that are given back at the ticks; 0: exact
    Int128 low = 0;          // parts at the origin, counted from first_.ns
    Int128 high = 0;
  };

  [[nodiscard]] constexpr bool one_mult() const noexcept {
    for (std::size_t i = 1; i < count_; ++i) {
      if (models_[i].mult != models_[0].mult) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] constexpr std::uint64_t fastest_call_ns() const noexcept {
    return static_cast<std::uint64_t>(whole_ns(Int128{tightest_} * models_[0].rate));
  }
  [[nodiscard]] constexpr std::uint64_t since_origin(std::uint64_t counter) const noexcept {
    return counter - first_.before.counter;
  }

  constexpr FitStep find_tick(const RawSample& sample) noexcept;
  constexpr FitStep narrow(const RawSample& sample) noexcept;
  constexpr void add_candidates(std::uint64_t tick) noexcept;
  constexpr void add_models(std::uint32_t mult) noexcept;
  constexpr void add_model(std::uint32_t mult, std::uint64_t loss) noexcept;

  std::uint32_t tick_ns_ = 0;
  std::uint32_t samples_ = 0;
  std::uint32_t ticks_ = 0;  // different cycle_last seen
  std::size_t count_ = 0;
  std::uint64_t tightest_ = 0;
  TickLattice lattice_;
  RawSample first_;
  RawSample latest_;
  std::array<Model, 6> models_{};
};

// How many ticks lie between two values of cycle_last is told by the system calls, to a small part
// of a tick; it divides the cycles between them exactly, or the kernel is not as we know it.
constexpr FitStep RawFit::find_tick(const RawSample& sample) noexcept {
  const std::uint64_t widths = sample.width() + first_.width();
  const std::uint64_t cycles = sample.before.counter - first_.before.counter;
  const std::uint64_t moved = sample.before.cycle_last - first_.before.cycle_last;
  if (sample.width() < first_.width() / 2) {
    first_ = sample;  // a wide first bracket would stand in the way for ever
    return FitStep::kKept;
  }
  if (moved == 0 || cycles == 0) {
    return FitStep::kUseless;
  }
  if (sample.ns < first_.ns || sample.before.cycle_last < first_.before.cycle_last) {
    return FitStep::kContradicted;
  }
  const Uint128 scale = Uint128{cycles} * tick_ns_;
  const auto ticks =
      static_cast<std::uint64_t>((Uint128{moved} * (sample.ns - first_.ns) + scale / 2) / scale);
  if (ticks == 0 || Uint128{widths} * 8 * ticks > cycles || Uint128{widths} * 8 * ticks > moved) {
    return FitStep::kUseless;
  }
  const std::uint64_t tick = moved / ticks;
  if (moved % ticks != 0 || tick >> 32 != 0) {
    return FitStep::kContradicted;
  }
  add_candidates(tick);
  return count_ == 0 || narrow(first_) == FitStep::kContradicted ? FitStep::kContradicted
                                                                 : narrow(sample);
}

// Neighbours in kHz may share a tick: mult is rounded before the tick is computed from it.
constexpr void RawFit::add_candidates(std::uint64_t tick) noexcept {
  lattice_ = tick_lattice(first_.before.cycle_last, static_cast<std::uint32_t>(tick));
  const std::uint64_t near = tick * 1'000'000 / tick_ns_;
  const std::uint64_t from = near < kLowestTscKhz + 3 ? kLowestTscKhz : near - 3;
  for (std::uint64_t khz = from; khz <= near + 4 && khz <= kHighestTscKhz; ++khz) {
    const MultShift choice = expected_mult_shift(static_cast<std::uint32_t>(khz));
    const std::uint64_t steered = first_.after.mult;
    if (choice.shift == first_.after.shift &&
        tick_cycles(tick_ns_, choice.mult, choice.shift) == tick &&
        steered + max_adjustment(choice.mult) >= choice.mult &&
        steered <= std::uint64_t{choice.mult} + max_adjustment(choice.mult)) {
      add_models(choice.mult);
    }
  }
}

constexpr void RawFit::add_models(std::uint32_t mult) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (models_[i].mult == mult) {
      return;
    }
  }
  const std::uint32_t shift = first_.after.shift;
  add_model(mult, 0);
  // What a rounding kernel cuts off at each tick, in 2^-shift ns. Nothing: both kinds are the same.
  const std::uint64_t lost =
      (std::uint64_t{lattice_.tick} * mult) & ((std::uint64_t{1} << shift) - 1);
  if (lost != 0) {
    add_model(mult, (lost << (kPartBits - shift)) / lattice_.tick);
  }
}

constexpr void RawFit::add_model(std::uint32_t mult, std::uint64_t loss) noexcept {
  if (count_ < models_.size()) {
    const std::uint64_t rate = std::uint64_t{mult} << (kPartBits - first_.after.shift);
    const Int128 wide = Int128{1} << 124;
    models_[count_++] = {mult, rate - loss, loss, -wide, wide};
  }
}

constexpr FitStep RawFit::narrow(const RawSample& sample) noexcept {
  if (!lattice_.has(sample.before.cycle_last) || !lattice_.has(sample.after.cycle_last)) {
    return FitStep::kContradicted;
  }
  const std::uint64_t pending = sample.after.counter - sample.before.cycle_last;
  if (pending >= std::uint64_t{lattice_.tick} * kMaxPendingTicks) {
    return FitStep::kUseless;
  }
  const Int128 ns = parts(static_cast<std::int64_t>(sample.ns - first_.ns));
  const std::uint64_t before = since_origin(sample.before.counter);
  const std::uint64_t after = since_origin(sample.after.counter);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Model model = models_[i];
    const Int128 rise = Int128{pending} * model.loss;
    const Int128 low = ns - rise - Int128{after} * model.rate;
    const Int128 high = ns + parts(1) - Int128{before} * model.rate;
    model.low = low > model.low ? low : model.low;
    model.high = high < model.high ? high : model.high;
    if (model.low < model.high) {
      models_[kept++] = model;
    }
  }
  count_ = kept;
  if (kept == 0) {
    return FitStep::kContradicted;
  }
  samples_ += samples_ != ~0U ? 1U : 0U;
  ticks_ += ticks_ < kTicksToServe && sample.after.cycle_last != latest_.after.cycle_last ? 1U : 0U;
  if (tightest_ == 0 || sample.width() < tightest_) {
    tightest_ = sample.width();
  }
  latest_ = sample;
  return FitStep::kKept;
}

constexpr RawLine RawFit::line() const noexcept {
  const std::uint64_t since = since_origin(latest_.after.counter);
  // The kernel's clock at the anchor lies in (low, high), whichever model is the true one.
  Int128 low = Int128{1} << 125;
  Int128 high = -low;
  std::uint64_t slowest = ~std::uint64_t{0};
  std::uint64_t fastest = 0;
  const std::uint64_t max_pending = std::uint64_t{lattice_.tick} * kMaxPendingTicks;
  for (std::size_t i = 0; i < count_; ++i) {
    const Model& model = models_[i];
    const Int128 moved = Int128{since} * model.rate;
    const Int128 model_low = model.low + moved - parts(1);
    const Int128 model_high = model.high + moved + Int128{max_pending} * model.loss;
    low = model_low < low ? model_low : low;
    high = model_high > high ? model_high : high;
    slowest = model.rate < slowest ? model.rate : slowest;
    fastest = model.rate > fastest ? model.rate : fastest;
  }
  RawLine line;
  const Int128 half = (high - low) / 2;
  line.lattice = lattice_;
  line.shift = latest_.after.shift;
  line.mode = latest_.after.mode;
  line.mult = models_[0].mult;
  line.max_pending = max_pending;
  line.anchor = latest_.after.counter;
  line.rate = slowest + (fastest - slowest) / 2;
  line.set_base(static_cast<Uint128>(low + half) + (Uint128{first_.ns} << kPartBits));
  // While two kinds are possible the line runs between them, and for as long as it is at most a
  // quarter of the interval away from either.
  const std::uint64_t apart = (fastest - slowest + 1) / 2;
  const Int128 room = apart == 0 ? 0 : half / 2;
  const Int128 far = apart == 0 ? Int128{1} << 62 : room / apart;
  const std::uint64_t span =
      far >> 62 != 0 ? std::uint64_t{1} << 62 : static_cast<std::uint64_t>(far);
  line.limit = line.anchor + span;
  line.bound = static_cast<std::uint64_t>(whole_ns(half + room)) + 2;
  return line;
}

}  // namespace vvarclock::vvar
