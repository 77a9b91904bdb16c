// A vDSO's ELF image in memory, through libelf.
//
// The .cc beside this header is the only file that includes libelf. It knows nothing of the
// auxiliary vector, of the vvar page or of clocks beyond the names of the functions that it looks
// up, so that any image can be fed to it. Hash tables, symbol versions and section headers are all
// optional; every offset is checked against the image; a strange image is refused or yields absent
// symbols, never a fault. Allocates (libelf does; in the preload library from the stack), so it is
// not for the call path. errno may change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/x86/code_width.h"

namespace vvarclock::discover {

// A function of the image. size is 0 when the image does not have it.
struct Function {
  std::uint64_t offset = 0;  // of its first byte, from the start of the image
  std::uint64_t size = 0;    // bytes, cut at the end of the text
};

struct VdsoImage {
  arch::CodeWidth width = arch::kOwnWidth;  // of its code
  std::span<const std::byte> bytes;         // the whole image as mapped, ELF header first
  std::span<const std::byte> text;          // the executable segment, within bytes
  std::uint64_t link_base =
      0;  // address that the image was linked for: symbol value - link_base = offset
  Function clock_gettime;
  Function gettimeofday;
  Function time;
  Function clock_getres;
  std::uint32_t symbol_count = 0;  // dynamic symbols seen
  std::uint32_t linux_version_code =
      0;  // from the note; 0 = none. For the report only, never for a decision
};

enum class ImageError : std::uint8_t {
  kNone,
  kNotElf,        // magic, class, data encoding or size of the header
  kWrongMachine,  // not the machine that was asked for
  kNoText,        // no executable PT_LOAD inside the image
  kNoDynamic,     // no usable PT_DYNAMIC, symbol table or string table
  kNoClock,       // no clock_gettime among the symbols
  kLibelf,        // libelf refused it
};

const char* describe(ImageError error) noexcept;

// How many bytes the image claims to have: the furthest end of its PT_LOAD file ranges and of its
// section header table, judged from `head`, of which at least the ELF header and the program
// headers must be present; 0: not an ELF image of this width. At most kMaxImageSize.
// libelf must get all of it: with a smaller size it reports no sections, without an error. The
// caller checks that this much is mapped.
inline constexpr std::size_t kMaxImageSize = 64U * 1024U;
std::size_t claimed_image_size(std::span<const std::byte> head,
                               arch::CodeWidth width = arch::kOwnWidth) noexcept;

// Parses an image of this width: a program never has a vDSO of another than its own. On an error
// `image` is left as it was.
ImageError parse_vdso_image(std::span<const std::byte> bytes, VdsoImage& image,
                            arch::CodeWidth width = arch::kOwnWidth) noexcept;

}  // namespace vvarclock::discover
