// The reading threads: see readers.h for what is judged and what is not.
#include "test/kernels/guest/readers.h"

namespace guest {
namespace {

using vvarclock::vvar::bit;
using vvarclock::vvar::is_in;
using vvarclock::vvar::kMonotonic;
using vvarclock::vvar::kMonotonicCoarse;
using vvarclock::vvar::kRealtime;
using vvarclock::vvar::kRealtimeCoarse;
using vvarclock::vvar::kTai;
using vvarclock::vvar::NamedClock;

constexpr std::uint32_t kWallIds = bit(kRealtime) | bit(kRealtimeCoarse) | bit(kTai);
constexpr std::uint32_t kLeapIds = bit(kRealtime) | bit(kRealtimeCoarse);

// How far REALTIME is ahead of MONOTONIC, as the kernel says; unknown when the two could not be
// read together.
struct WallOffset {
  Nanoseconds value;
  bool known;
};

WallOffset wall_offset() noexcept {
  const Nanoseconds before = by_syscall(CLOCK_MONOTONIC);
  const Nanoseconds wall = by_syscall(CLOCK_REALTIME);
  const Nanoseconds after = by_syscall(CLOCK_MONOTONIC);
  return {wall - before, after - before < kSecond / 8};
}

// Half a second: far from no leap (errors up to an eighth each) and from a whole one.
bool leapt(const WallOffset& begin, const WallOffset& end) noexcept {
  return !begin.known || !end.known || std::abs(begin.value - end.value) > kSecond / 2;
}

void raise_to(std::atomic<Nanoseconds>& highest, Nanoseconds value) noexcept {
  Nanoseconds now = highest.load(std::memory_order_relaxed);
  while (now < value && !highest.compare_exchange_weak(now, value, std::memory_order_release)) {
  }
}

}  // namespace

bool Readers::never_goes_back(std::uint32_t id) const {
  return !is_in(id, kWallIds) && !(jumps_ == Jumps::kSlews && id == kMonotonicCoarse);
}

bool Readers::may_be_stepped(std::uint32_t id) const {
  return is_in(id, kWallIds) || (jumps_ == Jumps::kSlews && id == kMonotonicCoarse);
}

void Readers::judge(std::size_t clock, const Bracket& b, Nanoseconds seen) {
  const NamedClock& named = kServedClocks[clock];
  judged_.fetch_add(1, std::memory_order_relaxed);
  if (!b.holds()) {
    result_.fail("%s: %s %lld outside [%lld, %lld]", scenario_, named.name,
                 static_cast<long long>(b.value), static_cast<long long>(b.before),
                 static_cast<long long>(b.after));
  } else if (never_goes_back(named.id) && b.value < seen) {
    result_.fail("%s: %s stepped back by %lld ns %s", scenario_, named.name,
                 static_cast<long long>(seen - b.value),
                 ordered_ ? "between threads" : "in one thread");
  }
}

bool Readers::kernel_stepped_back(std::size_t clock, const Bracket& b, const Seen& seen) {
  if (!never_goes_back(kServedClocks[clock].id) ||
      (b.before >= seen.kernels && b.after >= b.before)) {
    return false;
  }
  latest_of_kernel_[clock] = b.after;
  latest_[clock] = 0;
  kernel_steps_back_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Readers::remember(std::size_t clock, const Bracket& b, Latest& own) {
  if (kServedClocks[clock].id == kMonotonic && own[clock] != 0) {
    raise_to(longest_gap_, b.value - own[clock]);
  }
  own[clock] = b.value;
  raise_to(latest_[clock], b.value);
  raise_to(latest_of_kernel_[clock], b.before);
}

void Readers::read_one(std::size_t clock, Latest& own) {
  const std::uint32_t id = kServedClocks[clock].id;
  const bool leap_matters = jumps_ == Jumps::kLeap && is_in(id, kLeapIds);
  const std::uint64_t generation = generation_.load();
  const WallOffset begin = leap_matters ? wall_offset() : WallOffset{0, true};
  const Seen seen{ordered_ ? latest_[clock].load(std::memory_order_acquire) : own[clock],
                  latest_of_kernel_[clock].load(std::memory_order_acquire)};
  const Bracket b = bracket(static_cast<clockid_t>(id));
  const WallOffset end = leap_matters ? wall_offset() : begin;
  const bool stepped =
      may_be_stepped(id) && ((generation & 1U) != 0 || generation_.load() != generation);
  if (stepped || (leap_matters && leapt(begin, end))) {
    unjudged_.fetch_add(1, std::memory_order_relaxed);
  } else if (kernel_stepped_back(clock, b, seen)) {
    unjudged_.fetch_add(1, std::memory_order_relaxed);
    own[clock] = 0;
  } else {
    judge(clock, b, seen.value);
    remember(clock, b, own);
  }
}

void Readers::read_all() {
  Latest own{};
  while (!stopping_.load(std::memory_order_relaxed)) {
    for (std::size_t clock = 0; clock < kClocks; ++clock) {
      read_one(clock, own);
    }
  }
}

void Readers::start(const char* scenario, Jumps jumps) {
  scenario_ = scenario;
  jumps_ = jumps;
  stopping_ = false;
  longest_gap_ = 0;
  judged_ = 0;
  unjudged_ = 0;
  for (std::size_t clock = 0; clock < kClocks; ++clock) {
    latest_[clock] = 0;
    latest_of_kernel_[clock] = 0;
  }
  for (int i = 0; i < 2; ++i) {
    threads_.emplace_back([this] { read_all(); });
  }
}

void Readers::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  judged_total_ += judged_;
  if (judged_ < 1000 || unjudged_ > judged_) {
    result_.fail("%s: only %llu brackets could be judged, %llu met a step", scenario_,
                 static_cast<unsigned long long>(judged_.load()),
                 static_cast<unsigned long long>(unjudged_.load()));
  }
}

}  // namespace guest
