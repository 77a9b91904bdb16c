// The ELF header of a vDSO image of either class, in numbers that do not depend on the class.
//
// Reads the header and the program headers within their bounds, before libelf sees anything. Pure:
// bytes in, numbers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "arch/x86/code_width.h"

namespace vvarclock::discover {

using Bytes = std::span<const std::byte>;

constexpr bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) noexcept {
  return offset <= limit && size <= limit - offset;
}

// False, and `value` untouched, when it is not all inside.
template <class T>
bool read_at(Bytes bytes, std::uint64_t offset, T& value) noexcept {
  if (!inside(offset, sizeof value, bytes.size())) {
    return false;
  }
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

struct ImageHeader {
  arch::CodeWidth width = arch::kOwnWidth;
  std::uint64_t segments = 0;  // where the program headers begin
  std::uint32_t segment_count = 0;
  std::uint64_t sections = 0;       // where the section headers begin
  std::uint32_t section_count = 0;  // as the header has it
  std::uint64_t sections_size = 0;  // bytes; 0: none of the usual form
};

enum class HeaderError : std::uint8_t {
  kNone,
  kNotElf,        // magic, class, data encoding, sizes, or program headers not inside
  kWrongMachine,  // not the machine of this width
};

// All program headers must be inside `bytes`, and inside the first `limit` of them.
HeaderError read_header(Bytes bytes, arch::CodeWidth width, std::size_t limit,
                        ImageHeader& header) noexcept;

struct Segment {
  std::uint32_t type;
  std::uint64_t offset;
  std::uint64_t size;  // in the file
};

// `index` below segment_count of a header that was read from these bytes.
Segment read_segment(Bytes bytes, const ImageHeader& header, std::uint32_t index) noexcept;

// Of one entry of the symbol table, in bytes.
std::size_t symbol_size(arch::CodeWidth width) noexcept;

}  // namespace vvarclock::discover
