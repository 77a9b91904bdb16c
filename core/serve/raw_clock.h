// CLOCK_MONOTONIC_RAW by a line in the counter, where the page has no raw record.
//
// Calls go to the kernel, and teach the fit (core/vvar/raw_fit.h), until it has a line that is
// surely good to less than a system call takes. Then the line serves. Every kRecheck of counter
// time one caller asks the kernel and holds its answer against the line; the others go on being
// served. What contradicts the line retires it, and everything starts anew.
//
// No lock is ever waited for, nothing is allocated, no libc. A call may be interrupted anywhere by
// a signal handler that calls too; a child of fork may find a writer that does not exist in it:
// what it left is taken over after a second, in a fresh room, and what the lost writer may still do
// can touch only its own.
//
// WHY IT NEVER STEPS BACK. T(c) is the kernel's clock at counter c; v the line; B its bound:
// |v(c) - T(c)| <= B while the page agrees with the line. All decisions hang on one atomic word:
// (version, slot, phase); whoever computes a value loads it first and again at the end, and begins
// anew when it moved. Phases: live (slot's line is in force from slot.start on) or retired.
//  1. Line after line: v never falls, and counters are read in order.
//  2. System calls while live give min(T, v(c2)), but at least v(min(c1, due)), where c1 and c2 are
//     counters read before and after. So they keep the order with every v before and after,
//     whatever T says; nothing is served from `due` on.
//  3. System calls while retired give max(T, min(v(end), T + M)), M being the largest B so far.
//     What was given before is at most T of an earlier moment, or else at most v(end) and T + M:
//     `end` is read after the word moved, is not before `start`, and is at most `due`; it is `due`
//     when the page is of another regime, whose counter means nothing to the line.
//  4. Going live: start is read after the word moved, and lies M + B later. What was given before
//     is at most T + M of an earlier moment, hence at most T(start) - B <= v(start). Calls that
//     began before start give at least min(T + M, v(start)).
//  5. A line found wrong by a re-check (phase held; the page cannot have told): nothing is given
//     below v(end), and no new line before the kernel's clock has passed it. That is at most two
//     kRecheck.
// `start` and `end` are set by compare-exchange by whoever needs them first: nobody waits for the
// thread that moved the word. Both begin as a mark of their publication, loaded before the counter
// is read, so that a caller who was stopped in between sets those of no later line. The kernel's
// own clock may step back by 1 ns per tick on rounding kernels; that is theirs, and inside B.
//
// Depends on core/vvar. Needs a counter that all CPUs agree on, as the kernel's vDSO does.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/counter.h"
#include "core/serve/raw_slot.h"
#include "core/vvar/cycles_to_ns.h"
#include "core/vvar/raw_fit.h"

namespace vvarclock::serve {

// What a caller supplies. Source::read makes one attempt at one sequence section with the counter
// inside; a mode whose counter cannot be read is given as kModeNone. Kernel::raw_ns is the system
// call: 0 or a negative errno.
template <class T>
concept RawSource = requires(const T& source, vvar::RawPage& page) {
  { source.read(page) }
  noexcept->std::same_as<arch::Attempt>;
};
template <class T>
concept RawKernel = requires(const T& kernel, std::uint64_t& ns) {
  { kernel.raw_ns(ns) }
  noexcept->std::same_as<long>;
};

enum class RawState : std::uint8_t {
  kOff,           // not begun, or given up: the system call
  kSampling,      // the system call, for now
  kServing,       // the line
  kContradicted,  // sampling anew after a line was retired by the page or by a re-check
};

struct RawClockStatus {
  RawState state = RawState::kOff;
  std::uint32_t mult = 0;  // the kernel's raw mult, 0: not found yet
  std::uint32_t shift = 0;
  bool knows_kind = false;  // does this kernel round each tick down to whole ns?
  bool rounds = false;
  std::uint64_t bound = 0;          // ns: no value served is further from the kernel's
  std::uint64_t largest_bound = 0;  // of all lines; what calls keep to between two lines
  std::uint64_t recheck = 0;        // ns of counter time
  std::uint32_t samples = 0;        // system calls that the fit rests on
  std::uint32_t contradictions = 0;
};

const char* name(RawState state) noexcept;

class RawClock {
 public:
  static constexpr std::uint64_t kRecheck = 250'000'000;  // ns
  static constexpr std::uint64_t kLease = 1'000'000'000;  // ns: then a writer is taken for lost
  static constexpr std::size_t kRooms = 4;                // lost writers, and one
  static constexpr std::uint32_t kMaxRestarts = 1000;     // in a row without a line: give up

  // A CPU may check the word a little before it reads the counter (a load can pass rdtsc), never by
  // this much.
  static constexpr std::uint64_t kOutOfOrder = 1000;  // ns

  enum class Phase : std::uint8_t { kNone, kLive, kRetired, kHeld };

  // One call that went to the kernel.
  struct Call {
    std::uint64_t word = 0;
    std::uint32_t restarts = 0;
    bool has_before = false;  // a consistent page; the counter is ours when its mode is
    bool has_after = false;
    vvar::RawSample sample;
  };
  // The page and the counter at this moment, for code that does not know the source. False: busy.
  struct Now {
    const void* source;
    bool (*read)(const void* source, vvar::RawPage& page) noexcept;
  };

  // Once, before the first call. mode: the clock mode in which the line may serve; tick_ns: 10^9 /
  // HZ.
  void begin(arch::ClockMode mode, std::uint32_t tick_ns) noexcept;

  [[nodiscard]] bool has_begun() const noexcept {
    return mode_.load(std::memory_order_relaxed) != arch::kModeNone;
  }

  // A snapshot for reports; not for calls.
  [[nodiscard]] RawClockStatus status() const noexcept;

  // The line alone: one attempt, no system call, no write. Each field is read where it is needed,
  // so that few registers do.
  template <RawSource Source, vvar::AnyTime Time>
  [[nodiscard, gnu::always_inline]] arch::Attempt read(const Source& source,
                                                       Time& time) const noexcept {
    const std::uint64_t word = load_rising(word_);
    if (phase_of(word) != Phase::kLive) [[unlikely]] {
      return arch::Attempt::kUnavailable;
    }
    const RawSlot& slot = slots_[slot_of(word)];
    vvar::RawPage page;
    if (const arch::Attempt attempt = source.read(page); attempt != arch::Attempt::kDone)
        [[unlikely]] {
      return attempt;
    }
    const vvar::SharedRawLine& line = slot.shared_line;
    if (page.counter < load_rising(slot.start) || page.counter >= load_rising(slot.due) ||
        !line.is_near(page) || !line.same_regime(page)) [[unlikely]] {
      return arch::Attempt::kUnavailable;
    }
    const std::uint64_t ns = line.value_after(page.counter - line.anchor);  // not before `start`
    if (!is_still(word, word_)) [[unlikely]] {
      return arch::Attempt::kUnavailable;
    }
    vvar::split(ns, time);
    return arch::Attempt::kDone;
  }

  // The parts of raw_by_line_or_syscall.
  void begin_call(Call& call) const noexcept;
  // Must this caller ask the kernel? False: try the line again.
  bool must_ask(std::uint64_t word, std::uint64_t counter) noexcept;
  void learn(const Call& call) noexcept;
  std::uint64_t settle(const Call& call, Now now) noexcept;

 private:
  struct Lock {
    std::uint64_t stamp = 0;  // 0: not ours
    std::size_t room = 0;
  };

  static Phase phase_of(std::uint64_t word) noexcept { return static_cast<Phase>(word & 0xff); }
  static std::size_t slot_of(std::uint64_t word) noexcept { return (word >> 8) & 0xff; }
  static std::uint64_t version_of(std::uint64_t word) noexcept { return word >> 16; }
  static std::uint64_t next(std::uint64_t word, std::size_t slot, Phase phase) noexcept {
    return ((version_of(word) + 1) << 16) | (slot << 8) | static_cast<std::uint64_t>(phase);
  }

  Lock try_lock(const vvar::RawPage& page) noexcept;
  Lock steal(const vvar::RawPage& page, std::uint64_t seen, std::uint64_t stamp) noexcept;
  void unlock(const Lock& lock) noexcept;
  bool retire(std::uint64_t word, Phase phase) noexcept;
  void contradict(std::uint64_t word, Phase phase) noexcept;
  void publish(std::uint64_t word, const vvar::RawLine& line, std::size_t room,
               std::uint64_t counter) noexcept;
  void restart(vvar::RawFit& fit) noexcept;
  void learn_locked(vvar::RawFit& fit, const Lock& lock, const vvar::RawSample& sample) noexcept;
  void keep_or_refit(const vvar::RawFit& fit, const Lock& lock, std::uint64_t word,
                     const vvar::RawSample& sample) noexcept;
  static std::uint64_t end_of(RawSlot& slot, Now now) noexcept;
  static std::uint64_t start_of(RawSlot& slot, const vvar::RawLine& line, Now now) noexcept;
  bool settle_live(std::uint64_t word, const Call& call, Now now, std::uint64_t& ns) noexcept;

  // Was a page read, and is its counter the one that lines are made of?
  [[nodiscard]] bool is_counted(bool has_page, const vvar::RawPage& page) const noexcept {
    return has_page && page.mode != arch::kModeNone &&
           page.mode == mode_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_given_up() const noexcept {
    return fruitless_.load(std::memory_order_relaxed) > kMaxRestarts;
  }

  friend struct RawClockProbe;  // tests play a lost writer

  // Read by every call; moves when a line is published or retired.
  alignas(128) std::atomic<std::uint64_t> word_{0};
  std::atomic<arch::ClockMode> mode_{arch::kModeNone};
  std::atomic<std::uint32_t> tick_ns_{0};
  // Written by system calls only.
  alignas(128) std::atomic<std::uint64_t> lock_{0};  // the counter when it was taken
  std::atomic<std::size_t> room_{0};
  std::atomic<std::uint64_t> largest_bound_{0};
  std::atomic<std::uint32_t> restarts_{0};
  std::atomic<std::uint32_t> fruitless_{0};  // restarts since the last line
  std::atomic<std::uint32_t> contradictions_{0};
  std::atomic<std::uint32_t> samples_{0};
  std::atomic<std::uint32_t> kind_{0};  // 0 not known, 1 exact, 2 rounding
  std::array<RawSlot, 2 * kRooms> slots_{};
  std::array<vvar::RawFit, kRooms> fits_{};
};

template <RawSource Source, vvar::AnyTime Time>
[[nodiscard, gnu::always_inline]] inline arch::Attempt read_raw_line(const RawClock& clock,
                                                                     const Source& source,
                                                                     Time& time) noexcept {
  return clock.read(source, time);
}

// A page that is being written is written in under a microsecond, less than the call costs.
inline constexpr int kPageAttempts = 64;

template <RawSource Source>
bool read_page(const Source& source, vvar::RawPage& page) noexcept {
  for (int attempt = 0; attempt < kPageAttempts; ++attempt) {
    if (const arch::Attempt got = source.read(page); got != arch::Attempt::kBusy) {
      return got == arch::Attempt::kDone;
    }
  }
  return false;
}

// The whole of it, for callers that read_raw_line refused. The source must order its counter reads
// (ordering.h), whatever the fast path uses. 0, or the kernel's negative errno and no time.
template <RawSource Source, RawKernel Kernel>
[[gnu::noinline]] long raw_by_line_or_syscall(RawClock& clock, const Source& source,
                                              const Kernel& kernel, vvar::SecNsec& time) noexcept {
  RawClock::Call call;
  clock.begin_call(call);
  call.has_before = read_page(source, call.sample.before);
  if (call.has_before && !clock.must_ask(call.word, call.sample.before.counter) &&
      clock.read(source, time) == arch::Attempt::kDone) {
    return 0;
  }
  if (const long error = kernel.raw_ns(call.sample.ns); error != 0) {
    return error;
  }
  call.has_after = read_page(source, call.sample.after);
  const RawClock::Now now{&source, [](const void* erased, vvar::RawPage& page) noexcept {
                            return read_page(*static_cast<const Source*>(erased), page);
                          }};
  clock.learn(call);
  vvar::split(clock.settle(call, now), time);
  return 0;
}

}  // namespace vvarclock::serve
