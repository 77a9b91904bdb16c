// The code's hints against a layout; see code_hints.h. Depends on the layouts alone.
#include "arch/x86/page.h"
#include "core/discover/code_hints.h"

namespace vvarclock::discover {
namespace {

constexpr std::int32_t kPage = arch::kPageSize;
constexpr std::int32_t kFurthestPage = 16 * kPage;  // what CodeHints::pages has bits for

// The last fields of an old block are the time zone's, 4 bytes each, which gettimeofday reads.
bool has_tail(const CodeHints& hints, const vvar::Layout& layout) noexcept {
  return hints.tail >= layout.timezone && hints.tail <= layout.timezone + 4;
}

}  // namespace

bool names_page(const CodeHints& hints, std::int32_t offset) noexcept {
  return offset < 0 && offset >= -kFurthestPage &&
         (hints.pages & (1U << static_cast<unsigned>(-(offset & -kPage) / kPage))) != 0;
}

HintVerdict judge(const CodeHints& hints, const vvar::Layout& layout) noexcept {
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  if (hints.data != 0 && (hints.anchor != layout.anchor || hints.data != layout.data)) {
    return HintVerdict::kOtherData;
  }
  if (hints.stride != 0 && hints.stride != block.stride) {
    return HintVerdict::kOtherStride;
  }
  if (hints.highest_id != 0 && hints.highest_id != layout.highest_id) {
    return HintVerdict::kOtherIds;
  }
  const bool tells_tail = hints.width == arch::CodeWidth::k32 && !block.is_generic();
  if (tells_tail && hints.tail > layout.timezone + 4) {
    return HintVerdict::kOtherFields;
  }
  // Every vDSO of a 64-bit kernel until 4.6 can read an HPET: code in which none is seen is
  // another's. A 32-bit kernel may be built without; then the pages of its layout are those of a
  // later one, and of the mode numbers that differ it uses none.
  if (hints.hpet != layout.hpet && (hints.hpet || hints.data != 0)) {
    return HintVerdict::kOtherDevice;
  }
  const bool all_seen = hints.data != 0 && (hints.stride != 0 || block.stride == 0) &&
                        (hints.highest_id != 0 || layout.highest_id == 0) &&
                        (!tells_tail || has_tail(hints, layout)) && hints.hpet == layout.hpet;
  return all_seen ? HintVerdict::kConfirms : HintVerdict::kSilent;
}

}  // namespace vvarclock::discover
