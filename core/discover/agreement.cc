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
  arch::Timespec64 answer{};
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

// Readings further apart than this say little of the second one: a system call must follow it too.
constexpr std::uint64_t kNarrowNs = 100'000;

bool is_wide(const SecNsec& before, const SecNsec& after) noexcept {
  return (after.sec - before.sec) * kNsPerSec + after.nsec - before.nsec > kNarrowNs;
}

// One chain of brackets: the reading after one system call is the one before the next. So a bracket
// costs one system call, not two.
Agreement bracket_once(const Kernel& kernel, vvar::BlockKind kind, const vvar::Binding& binding,
                       vvar::ClockId id, std::uint32_t rounds) noexcept {
  const auto miss = [id](const SecNsec& own) {
    return Agreement{
        {ProbeTest::kAgreement, own.sec * kNsPerSec + own.nsec, static_cast<std::int32_t>(id)}};
  };
  const auto read = [&](SecNsec& own) { return kernel.read_clock(kind, binding, id, own); };
  const Agreement left_to_kernel =
      vvar::is_in(id, vvar::kCoarseIds) ? miss({}) : Agreement{{}, false};
  SecNsec before{};
  if (!read(before)) {
    return left_to_kernel;
  }
  for (std::uint32_t round = 0; round < rounds; ++round) {
    SecNsec asked{};
    if (!ask(kernel, id, asked) || before.nsec >= kNsPerSec || is_before(asked, before)) {
      return miss(before);
    }
    SecNsec after{};
    if (!read(after)) {
      return left_to_kernel;
    }
    if (after.nsec >= kNsPerSec || is_before(after, asked) ||
        (is_wide(before, after) && (!ask(kernel, id, asked) || is_before(asked, after)))) {
      return miss(after);
    }
    before = after;
  }
  return {};
}

Agreement bracket(const Kernel& kernel, vvar::BlockKind kind, const vvar::Binding& binding,
                  vvar::ClockId id, std::uint32_t rounds) noexcept {
  Agreement seen;
  for (int look = vvar::is_in(id, kMayStep) ? kLooksAtStepping : 1; look > 0; --look) {
    seen = bracket_once(kernel, kind, binding, id, rounds);
    if (seen.found.test == ProbeTest::kPassed) {
      break;
    }
  }
  return seen;
}

Agreement bracket_all(const Kernel& kernel, vvar::BlockKind kind, const vvar::Binding& binding,
                      std::uint32_t rounds) noexcept {
  Agreement all;
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    if (!vvar::is_in(clock.id, vvar::block_layout(kind).ids)) {
      continue;  // not in the page
    }
    const Agreement one = bracket(kernel, kind, binding, clock.id, rounds);
    if (one.found.test != ProbeTest::kPassed) {
      return one;
    }
    all.all_bracketed = all.all_bracketed && one.all_bracketed;
  }
  return all;
}

// Waits for the next page update; true when one came within `limit_ns`.
bool wait_for_update(const Kernel& kernel, const vvar::Layout& layout, const vvar::Binding& binding,
                     const std::byte* real, std::uint32_t limit_ns) noexcept {
  const auto now = [&](std::uint64_t& ns) {
    SecNsec time{};
    const bool served = kernel.read_clock(layout.block, binding, vvar::kMonotonic, time);
    ns = time.sec * kNsPerSec + time.nsec;
    return served;
  };
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  const vvar::SeqMode begin = vvar::look(real, block);
  std::uint64_t start = 0;
  if (limit_ns == 0 || !now(start)) {
    return false;
  }
  std::uint64_t time = start;
  do {
    if (vvar::has_moved(begin, real, block)) {
      return true;
    }
  } while (now(time) && time < start + limit_ns);
  return false;  // an idle or stopped tick: nothing learnt, nothing wrong
}

}  // namespace

Agreement check_agreement(const Kernel& kernel, const vvar::Layout& layout,
                          const vvar::Binding& binding, const std::byte* real,
                          const Effort& effort) noexcept {
  const Agreement first = bracket_all(kernel, layout.block, binding, effort.rounds);
  if (first.found.test != ProbeTest::kPassed ||
      !wait_for_update(kernel, layout, binding, real, effort.update_wait_ns)) {
    return first;
  }
  return {bracket_all(kernel, layout.block, binding, 1).found, first.all_bracketed};
}

}  // namespace vvarclock::discover
