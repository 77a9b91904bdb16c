// See vdso_image_header.h.
#include "core/discover/vdso_image_header.h"

#include <elf.h>

#include <algorithm>

namespace vvarclock::discover {
namespace {

using arch::CodeWidth;

struct Shape32 {
  using Header = Elf32_Ehdr;
  using SegmentHeader = Elf32_Phdr;
  using SectionHeader = Elf32_Shdr;
  static constexpr unsigned char kClass = ELFCLASS32;
  static constexpr std::uint16_t kMachine = EM_386;
};

struct Shape64 {
  using Header = Elf64_Ehdr;
  using SegmentHeader = Elf64_Phdr;
  using SectionHeader = Elf64_Shdr;
  static constexpr unsigned char kClass = ELFCLASS64;
  static constexpr std::uint16_t kMachine = EM_X86_64;
};

template <class Shape>
HeaderError read_shape(Bytes bytes, std::size_t limit, ImageHeader& out) noexcept {
  typename Shape::Header header;
  if (!read_at(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != Shape::kClass || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT ||
      header.e_ehsize != sizeof header) {
    return HeaderError::kNotElf;
  }
  if (header.e_machine != Shape::kMachine) {
    return HeaderError::kWrongMachine;
  }
  constexpr std::size_t kSegment = sizeof(typename Shape::SegmentHeader);
  constexpr std::size_t kSection = sizeof(typename Shape::SectionHeader);
  // 65535 segments would mean that section 0 knows the number: more than any image has room for.
  if (header.e_phentsize != kSegment || header.e_phnum == 0 ||
      !inside(header.e_phoff, header.e_phnum * kSegment, std::min(bytes.size(), limit))) {
    return HeaderError::kNotElf;
  }
  out.segments = header.e_phoff;
  out.segment_count = header.e_phnum;
  out.sections = header.e_shoff;
  out.section_count = header.e_shnum;
  out.sections_size = header.e_shoff != 0 && header.e_shentsize == kSection
                          ? std::uint64_t{header.e_shnum} * kSection
                          : 0;
  return HeaderError::kNone;
}

template <class Shape>
Segment read_segment_of(Bytes bytes, std::uint64_t table, std::uint32_t index) noexcept {
  typename Shape::SegmentHeader segment{};
  read_at(bytes, table + std::uint64_t{index} * sizeof segment, segment);
  return {segment.p_type, segment.p_offset, segment.p_filesz};
}

}  // namespace

HeaderError read_header(Bytes bytes, CodeWidth width, std::size_t limit,
                        ImageHeader& header) noexcept {
  header.width = width;
  return width == CodeWidth::k32 ? read_shape<Shape32>(bytes, limit, header)
                                 : read_shape<Shape64>(bytes, limit, header);
}

Segment read_segment(Bytes bytes, const ImageHeader& header, std::uint32_t index) noexcept {
  return header.width == CodeWidth::k32 ? read_segment_of<Shape32>(bytes, header.segments, index)
                                        : read_segment_of<Shape64>(bytes, header.segments, index);
}

std::size_t symbol_size(CodeWidth width) noexcept {
  return width == CodeWidth::k32 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
}

}  // namespace vvarclock::discover
