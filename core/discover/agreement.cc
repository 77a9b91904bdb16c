#include "core/discover/agreement.h"

namespace vvarclock::discover {
namespace {

using vvar::kNsPerSec;
using vvar::SecNsec;

bool is_before(const SecNsec& a, const SecNsec& b) noexcept {
  const auto a_sec = static_cast<std::int64_t>(a.sec);
  const auto b_sec = static_cast<std::int64_t>(b.sec);
  return a_sec != b_sec ? a_sec < b_sec : a.nsec < b.nsec;
}

bool ask(const Kernel& kernel, vvar::ClockId id, SecNsec& time) noexcept {
  timespec answer{};
  if (kernel.clock_gettime(static_cast<clockid_t>(id), &answer) != 0) {
    return false;
  }
  time = {static_cast<std::uint64_t>(answer.tv_sec), static_cast<std::uint64_t>(answer.tv_nsec)};
  return true;
}

// REALTIME and what hangs on it may be set while we look, and a coarse clock that stands still
// between updates has no time to pass over a small step: before 6.15 each adjtimex can put it back
// by nanoseconds (kernel/time/timekeeping.c). A miss there is looked at anew; the others never
// step.
constexpr std::uint32_t kMayStep =
    vvar::bit(vvar::kRealtime) | vvar::bit(vvar::kTai) | vvar::kCoarseIds;
constexpr int kLooksAtStepping = 3;

// One chain of brackets: the system call after one reading is the one before the next.
Finding bracket_once(const Kernel& kernel, vvar::BlockKind kind, const vvar::Binding& binding,
                     vvar::ClockId id, std::uint32_t rounds) noexcept {
  const Finding miss{ProbeTest::kAgreement, 0, static_cast<std::int32_t>(id)};
  SecNsec before{};
  if (!ask(kernel, id, before)) {
    return miss;
  }
  for (std::uint32_t round = 0; round < rounds; ++round) {
    SecNsec own{};
    if (!kernel.read_clock(kind, binding, id, own)) {
      return vvar::is_in(id, vvar::kCoarseIds) ? miss : Finding{};
    }
    SecNsec after{};
    if (!ask(kernel, id, after) || own.nsec >= kNsPerSec || is_before(own, before) ||
        is_before(after, own)) {
      return {ProbeTest::kAgreement, own.sec * kNsPerSec + own.nsec, static_cast<std::int32_t>(id)};
    }
    before = after;
  }
  return {};
}

Finding bracket(const Kernel& kernel, vvar::BlockKind kind, const vvar::Binding& binding,
                vvar::ClockId id, std::uint32_t rounds) noexcept {
  Finding found;
  for (int look = vvar::is_in(id, kMayStep) ? kLooksAtStepping : 1; look > 0; --look) {
    found = bracket_once(kernel, kind, binding, id, rounds);
    if (found.test == ProbeTest::kPassed) {
      break;
    }
  }
  return found;
}

Finding bracket_all(const Kernel& kernel, vvar::BlockKind kind, const vvar::Binding& binding,
                    std::uint32_t rounds) noexcept {
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    if (!vvar::is_in(clock.id, vvar::block_layout(kind).ids)) {
      continue;  // not in the page
    }
    if (const Finding found = bracket(kernel, kind, binding, clock.id, rounds);
        found.test != ProbeTest::kPassed) {
      return found;
    }
  }
  return {};
}

// Waits for the next page update when it is due within `limit_ns`; true when one came. Updates
// follow the tick, so the next is due one tick after the last; the coarse clock tells how long ago
// that was.
bool wait_for_update(const Kernel& kernel, const vvar::Layout& layout, const vvar::Binding& binding,
                     const std::byte* real, std::uint32_t limit_ns) noexcept {
  const auto now = [&](vvar::ClockId id, std::uint64_t& ns) {
    SecNsec time{};
    const bool served = kernel.read_clock(layout.block, binding, id, time);
    ns = time.sec * kNsPerSec + time.nsec;
    return served;
  };
  std::uint64_t start = 0;
  std::uint64_t last_update = 0;
  if (!now(vvar::kMonotonic, start) || !now(vvar::kMonotonicCoarse, last_update)) {
    return false;
  }
  const std::uint64_t due = last_update + binding.coarse_resolution;
  if (due > start + limit_ns) {
    return false;
  }
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  const vvar::SeqMode begin = vvar::look(real, block);
  std::uint64_t time = start;
  do {
    if (vvar::has_moved(begin, real, block)) {
      return true;
    }
  } while (now(vvar::kMonotonic, time) && time < start + limit_ns);
  return false;  // an idle or stopped tick: nothing learnt, nothing wrong
}

}  // namespace

Finding check_agreement(const Kernel& kernel, const vvar::Layout& layout,
                        const vvar::Binding& binding, const std::byte* real,
                        const Effort& effort) noexcept {
  if (const Finding found = bracket_all(kernel, layout.block, binding, effort.rounds);
      found.test != ProbeTest::kPassed) {
    return found;
  }
  if (!wait_for_update(kernel, layout, binding, real, effort.update_wait_ns)) {
    return {};
  }
  return bracket_all(kernel, layout.block, binding, 1);
}

}  // namespace vvarclock::discover
