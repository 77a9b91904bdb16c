#include "core/discover/page_copy.h"

namespace vvarclock::discover {
namespace {

using arch::load;

// A writer needs under a microsecond; this many attempts are some milliseconds.
constexpr int kMaxCopies = 1 << 16;

BlockCopy copy_block(const std::byte* block, const vvar::BlockLayout& layout) noexcept {
  BlockCopy copy{};
  const vvar::SeqMode look = vvar::SeqMode::begin(block + layout.seq);
  copy.seq = look.seq();
  copy.mode = look.mode();
  copy.cycle_last = load<std::uint64_t>(block, layout.cycle_last);
  copy.max_cycles = layout.max_cycles == 0 ? 0 : load<std::uint64_t>(block, layout.max_cycles);
  copy.mask = load<std::uint64_t>(block, layout.mask);
  copy.mult = load<std::uint32_t>(block, layout.mult);
  copy.shift = load<std::uint32_t>(block, layout.shift);
  for (vvar::ClockId id = 0; id < vvar::kBasetimeSlots; ++id) {
    copy.basetime[id] = {load<std::uint64_t>(block, layout.sec(id)),
                         load<std::uint64_t>(block, layout.nsec(id))};
  }
  return copy;
}

}  // namespace

CopyResult copy_page(const std::byte* data, const vvar::Layout& layout, PageCopy& copy) noexcept {
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  bool always_odd = true;
  for (int attempt = 0; attempt < kMaxCopies; ++attempt) {
    const vvar::SeqMode begin = vvar::SeqMode::begin(data + block.seq);
    const vvar::SeqMode begin_raw = vvar::SeqMode::begin(data + block.stride + block.seq);
    if (begin.being_written()) {
      __builtin_ia32_pause();
      continue;
    }
    always_odd = false;
    copy.blocks = {copy_block(data, block), copy_block(data + block.stride, block)};
    copy.timezone = {load<std::int32_t>(data, layout.timezone),
                     load<std::int32_t>(data, layout.timezone + 4U)};
    copy.hrtimer_res = load<std::uint32_t>(data, layout.hrtimer_res);
    if (!begin.changed(data + block.seq) && !begin_raw.changed(data + block.stride + block.seq)) {
      return CopyResult::kDone;
    }
  }
  return always_odd ? CopyResult::kSeqOdd : CopyResult::kUnstable;
}

}  // namespace vvarclock::discover
