#include "core/discover/page_copy.h"

namespace vvarclock::discover {
namespace {

using arch::load;

// Copies that may be spoilt by an update, each in under a microsecond.
constexpr std::uint32_t kMaxCopies = 1U << 16;

// The writer makes seq odd in block 0 first and even in block 0 first, so it may be seen with block
// 1 alone odd, and then one behind. Any other odd word there is no writer's (it may be another
// layout's data) and is left to the comparison of the blocks.
bool being_written(const vvar::SeqMode& first, const vvar::SeqMode& last) noexcept {
  return first.being_written() || first.seq() == last.seq() + 1;
}

// No base in the block: zero, as the kernel leaves the unused ones of the generic vDSO.
vvar::SecNsec copy_base(const std::byte* block, const vvar::BlockLayout& layout,
                        vvar::ClockId id) noexcept {
  if (layout.sec(id) == 0) {
    return {0, 0};
  }
  const bool narrow_nsec = layout.narrow && vvar::is_in(id, vvar::kCoarseIds);
  return {layout.narrow ? load<std::uint32_t>(block, layout.sec(id))
                        : load<std::uint64_t>(block, layout.sec(id)),
          narrow_nsec ? load<std::uint32_t>(block, layout.nsec(id))
                      : load<std::uint64_t>(block, layout.nsec(id))};
}

BlockCopy copy_block(const std::byte* block, const vvar::BlockLayout& layout) noexcept {
  BlockCopy copy{};
  const vvar::SeqMode seen = vvar::look(block, layout);
  copy.seq = seen.seq();
  copy.mode = seen.mode();
  copy.cycle_last = load<std::uint64_t>(block, layout.cycle_last);
  copy.max_cycles = layout.max_cycles == 0 ? 0 : load<std::uint64_t>(block, layout.max_cycles);
  copy.mask = load<std::uint64_t>(block, layout.mask);
  copy.mult = load<std::uint32_t>(block, layout.mult);
  copy.shift = load<std::uint32_t>(block, layout.shift);
  for (vvar::ClockId id = 0; id < vvar::kBasetimeSlots; ++id) {
    copy.basetime[id] = copy_base(block, layout, id);
  }
  return copy;
}

}  // namespace

CopyResult copy_page(const std::byte* data, const vvar::Layout& layout, Patience patience,
                     PageCopy& copy) noexcept {
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  const std::byte* const last = data + block.stride;
  std::uint32_t copies = 0;
  for (auto waits = static_cast<std::uint32_t>(patience); waits != 0 && copies < kMaxCopies;) {
    const vvar::SeqMode begin = vvar::look(data, block);
    const vvar::SeqMode begin_last = vvar::look(last, block);
    if (being_written(begin, begin_last)) {
      __builtin_ia32_pause();
      --waits;
      continue;
    }
    ++copies;
    copy.blocks = {copy_block(data, block), copy_block(last, block)};
    copy.timezone = {load<std::int32_t>(data, layout.timezone),
                     load<std::int32_t>(data, layout.timezone + 4U)};
    copy.hrtimer_res = layout.hrtimer_res == 0 ? 0 : load<std::uint32_t>(data, layout.hrtimer_res);
    if (!vvar::has_moved(begin, data, block) && !vvar::has_moved(begin_last, last, block)) {
      return CopyResult::kDone;
    }
  }
  return copies == 0 ? CopyResult::kSeqOdd : CopyResult::kUnstable;
}

}  // namespace vvarclock::discover
