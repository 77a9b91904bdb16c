#include "core/discover/layout_probe.h"

#include "arch/x86/page.h"
#include "core/discover/agreement.h"
#include "core/discover/invariants.h"
#include "core/discover/page_copy.h"

namespace vvarclock::discover {
namespace {

using arch::load;

// A readable span of at most a page: its first eight bytes, and its last ones if they are on
// another page.
bool span_readable(const Kernel& kernel, const std::byte* start, std::size_t size) noexcept {
  if (!kernel.readable(start)) {
    return false;  // perhaps null, which may not be counted on from
  }
  const std::byte* const last = start + size - sizeof(std::uint64_t);
  return arch::on_one_page(start, last) || kernel.readable(last);
}

ProbeTest from_hints(HintVerdict verdict) noexcept {
  switch (verdict) {
    case HintVerdict::kOtherData:
      return ProbeTest::kCodeData;
    case HintVerdict::kOtherStride:
      return ProbeTest::kCodeStride;
    case HintVerdict::kOtherIds:
      return ProbeTest::kCodeIds;
    case HintVerdict::kOtherFields:
      return ProbeTest::kCodeFields;
    case HintVerdict::kOtherDevice:
      return ProbeTest::kCodeDevice;
    case HintVerdict::kConfirms:
    case HintVerdict::kSilent:
      break;
  }
  return ProbeTest::kPassed;
}

// A time-namespace page: both blocks marked alike, no cycles, and offsets whose nanoseconds are
// nanoseconds.
bool is_timens_page(const std::byte* data, const vvar::BlockLayout& layout) noexcept {
  for (const std::byte* block : {data, data + layout.stride}) {
    if (!vvar::look(block, layout).marks_timens() ||
        load<std::uint64_t>(block, layout.cycle_last) != 0 ||
        load<std::uint32_t>(block, layout.mult) != 0 ||
        load<std::uint32_t>(block, layout.shift) != 0) {
      return false;
    }
    for (vvar::ClockId id = 0; id < vvar::kBasetimeSlots; ++id) {
      if (load<std::uint64_t>(block, layout.nsec(id)) >= vvar::kNsPerSec) {
        return false;
      }
    }
  }
  return true;
}

// The page that holds the real data: behind a time-namespace page where there is one.
Finding find_real_data(const Kernel& kernel, const vvar::Layout& layout,
                       const vvar::Binding& binding, const std::byte*& real) noexcept {
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  if (!span_readable(kernel, binding.data, layout.size)) {
    return {ProbeTest::kDataUnreadable};
  }
  real = binding.data;
  if (!block.is_generic() || !vvar::look(binding.data, block).marks_timens()) {
    return {};
  }
  if (!is_timens_page(binding.data, block)) {
    return {ProbeTest::kTimensPage};
  }
  real = binding.timens_data;
  if (real == nullptr || !span_readable(kernel, real, layout.size)) {
    return {ProbeTest::kTimensUnreadable};
  }
  return {};
}

bool ask_surroundings(const Kernel& kernel, Surroundings& around) noexcept {
  arch::Timespec64 fine{};
  arch::Timespec64 coarse{};
  if (kernel.clock_getres(CLOCK_MONOTONIC, &fine) != 0 ||
      kernel.clock_getres(CLOCK_MONOTONIC_COARSE, &coarse) != 0 ||
      kernel.timezone(around.timezone) != 0) {
    return false;
  }
  around.resolution_ns = static_cast<std::uint32_t>(fine.tv_nsec);
  around.coarse_resolution = static_cast<std::uint32_t>(coarse.tv_nsec);
  return true;
}

Finding check_counter_page(const Kernel& kernel, arch::ClockMode mode,
                           const arch::ClockModes& modes, const vvar::Binding& binding) noexcept {
  const std::byte* const page = mode == modes.pvclock   ? binding.counters.pvclock
                                : mode == modes.hvclock ? binding.counters.hvclock
                                                        : binding.data;
  return page != nullptr && kernel.readable(page) ? Finding{} : Finding{ProbeTest::kCounterPage};
}

Finding check_bytes(const Probe& probe, const vvar::Layout& layout, const vvar::Binding& binding,
                    const std::byte* real, Surroundings& around) noexcept {
  PageCopy copy{};
  const bool confirmed = judge(probe.hints, layout) == HintVerdict::kConfirms;
  switch (copy_page(real, layout, confirmed ? Patience::kLong : Patience::kShort, copy)) {
    case CopyResult::kSeqOdd:
      return {ProbeTest::kSeqOdd};
    case CopyResult::kUnstable:
      return {ProbeTest::kUnstable};
    case CopyResult::kDone:
      break;
  }
  const arch::ClockMode mode = copy.blocks[0].mode;
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  if (mode < arch::kModeNone || mode > block.modes.highest) {
    return {ProbeTest::kClockMode, static_cast<std::uint32_t>(mode)};
  }
  if (mode == arch::kModeTsc && probe.kernel->counter != nullptr) {
    around.counter = probe.kernel->counter();
    around.counter_known = true;
  }
  if (const Finding found = check_any_mode(copy, layout, around);
      found.test != ProbeTest::kPassed) {
    return found;
  }
  if (mode != arch::kModeTsc && mode != block.modes.pvclock && mode != block.modes.hvclock) {
    return {};  // the rest is stale or zero
  }
  if (const Finding found = check_counting(copy, block, around); found.test != ProbeTest::kPassed) {
    return found;
  }
  // Before 4.5 the pvclock records are out of reach: the kernel answers, and the page is right all
  // the same.
  return layout.pvclock == vvar::kNoPage
             ? Finding{}
             : check_counter_page(*probe.kernel, mode, block.modes, binding);
}

const std::byte* page_at(const Probe& probe, const vvar::Layout& layout,
                         std::int32_t offset) noexcept {
  if (offset == vvar::kNoPage) {
    return nullptr;
  }
  switch (layout.anchor) {
    case vvar::Anchor::kAbsolute:
      return probe.kernel->fixed_mapping(
          static_cast<std::uintptr_t>(static_cast<std::intptr_t>(offset)));
    case vvar::Anchor::kImageEnd:
      return probe.image.data() + probe.image.size() + offset;
    case vvar::Anchor::kImage:
      break;
  }
  return probe.image.data() + offset;
}

// Pages before the generic vDSO: one data page with other neighbours in each generation, a device
// among them. A hypervisor page is taken only where the code confirms the generation and is seen to
// read that page; the Hyper-V one only behind a pvclock page, because alone it could be the older
// generation's pvclock page.
arch::CounterPages counter_pages(const Probe& probe, const vvar::Layout& layout) noexcept {
  if (vvar::block_layout(layout.block).is_generic()) {
    return {page_at(probe, layout, layout.pvclock), page_at(probe, layout, layout.hvclock)};
  }
  if (judge(probe.hints, layout) != HintVerdict::kConfirms ||
      !names_page(probe.hints, layout.pvclock)) {
    return {};
  }
  const bool has_hvclock = names_page(probe.hints, layout.hvclock);
  return {page_at(probe, layout, layout.pvclock),
          has_hvclock ? page_at(probe, layout, layout.hvclock) : nullptr};
}

vvar::Binding candidate_for(const Probe& probe, const vvar::Layout& layout) noexcept {
  const auto at = [&](std::int32_t offset) { return page_at(probe, layout, offset); };
  vvar::Binding candidate;
  candidate.data = at(layout.data);
  candidate.timens_data = at(layout.timens);
  candidate.counters = counter_pages(probe, layout);
  candidate.timezone = layout.timezone;
  candidate.hrtimer_res = layout.hrtimer_res;
  return candidate;
}

// Where the system call could not be held against every clock (clock mode none, a hypervisor page
// that is dead, invalid or not stable), the bytes say too little about a mode that may come later.
Finding check_times(const Probe& probe, const vvar::Layout& layout, const vvar::Binding& binding,
                    const std::byte* real) noexcept {
  const Agreement seen = check_agreement(*probe.kernel, layout, binding, real, probe.effort);
  if (seen.found.test == ProbeTest::kPassed && !seen.all_bracketed &&
      judge(probe.hints, layout) != HintVerdict::kConfirms) {
    return {ProbeTest::kCodeSilent};
  }
  return seen.found;
}

Refusal refuse(const vvar::Layout& layout, const Finding& found) noexcept {
  return {&layout, found.test, found.clock, found.value};
}

}  // namespace

Refusal probe_layout(const Probe& probe, const vvar::Layout& layout,
                     vvar::Binding& binding) noexcept {
  if (const ProbeTest test = from_hints(judge(probe.hints, layout)); test != ProbeTest::kPassed) {
    return refuse(layout, {test});
  }
  if (probe.hints.data == 0 && !vvar::block_layout(layout.block).is_generic()) {
    return refuse(layout, {ProbeTest::kCodeSilent});
  }
  vvar::Binding candidate = candidate_for(probe, layout);
  const std::byte* real = nullptr;
  if (const Finding found = find_real_data(*probe.kernel, layout, candidate, real);
      found.test != ProbeTest::kPassed) {
    return refuse(layout, found);
  }
  Surroundings around;
  if (!ask_surroundings(*probe.kernel, around)) {
    return refuse(layout, {ProbeTest::kResolution});
  }
  if (const Finding found = check_bytes(probe, layout, candidate, real, around);
      found.test != ProbeTest::kPassed) {
    return refuse(layout, found);
  }
  candidate.coarse_resolution = around.coarse_resolution;
  if (const Finding found = check_times(probe, layout, candidate, real);
      found.test != ProbeTest::kPassed) {
    return refuse(layout, found);
  }
  binding = candidate;
  return refuse(layout, {});
}

}  // namespace vvarclock::discover
