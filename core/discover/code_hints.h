// What the code of a vDSO says about the page that it reads: which pages, how far apart the clock
// blocks, which clock ids.
//
// From the references near the image and the constants of the clock functions
// (arch/<cpu>/code_refs.h finds them). A compiler may fold any of this away, so every hint may be
// absent; what is there must not contradict a layout.
#pragma once

#include <cstdint>

#include "arch/x86/code_width.h"
#include "core/discover/vdso_image.h"
#include "core/vvar/layout.h"

namespace vvarclock::discover {

struct CodeHints {
  arch::CodeWidth width = arch::kOwnWidth;
  vvar::Anchor anchor = vvar::Anchor::kImage;  // what data counts from
  std::int32_t data =
      0;  // lowest page reference of the clock functions, bytes from the anchor; 0 = none
  std::uint16_t stride = 0;     // distance of the second clock block; 0 = not seen
  std::uint8_t highest_id = 0;  // the limit that the clock id is compared against; 0 = not seen
  bool hpet = false;            // reads the main counter of an HPET
  std::uint16_t tail = 0;       // 32-bit code: the furthest byte that is read in the data's page,
                                // from the data; 0 = not seen. Tells the blocks of 32-bit kernels
                                // from those of 64-bit ones, which are in the same places
  std::uint32_t pages = 0;      // bit n: of the page n pages before the image, more than an HPET's
                                // counter is read
};

const char* describe(vvar::Anchor anchor) noexcept;

// W: the image's width. Who knows it beforehand does not link the decoder of the other one.
template <arch::CodeWidth W>
CodeHints scan_code_of(const VdsoImage& image) noexcept;

inline CodeHints scan_code(const VdsoImage& image) noexcept {
  return image.width == arch::CodeWidth::k64 ? scan_code_of<arch::CodeWidth::k64>(image)
                                             : scan_code_of<arch::CodeWidth::k32>(image);
}

enum class HintVerdict : std::uint8_t {
  kConfirms,     // every hint is there and agrees
  kSilent,       // nothing contradicts, something is missing
  kOtherData,    // the code reads another data page
  kOtherStride,  // the code's second block is elsewhere
  kOtherIds,     // the code knows other clock ids
  kOtherFields,  // the code reads fields behind the block
  kOtherDevice,  // the code reads an HPET, which this generation does not, or the reverse
};

// Does the code read the page at this offset from the image, and as no HPET?
[[nodiscard]] bool names_page(const CodeHints& hints, std::int32_t offset) noexcept;

HintVerdict judge(const CodeHints& hints, const vvar::Layout& layout) noexcept;

}  // namespace vvarclock::discover
