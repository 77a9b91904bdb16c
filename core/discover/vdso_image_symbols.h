// Reading an ELF image's bytes within their bounds, and the number of its dynamic symbols.
//
// A dynamic section does not say how many symbols there are; hash tables and section headers do,
// and an image may have any or none of them. Pure: bytes in, number out. Includes <elf.h> for the
// shape of the file, not libelf.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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

// An offset that no image reaches.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// The tables that the dynamic section names, as offsets from the start of the image.
struct SymbolTables {
  std::uint64_t symbols = kNowhere;
  std::uint64_t strings = kNowhere;
  std::uint64_t strings_size = kNowhere;
  std::uint64_t hash = kNowhere;
  std::uint64_t gnu_hash = kNowhere;
  std::uint64_t symbol_size = sizeof(Elf64_Sym);
};

// Size of the section header table in bytes, 0 when it has none of the usual form.
std::uint64_t section_table_size(const Elf64_Ehdr& header) noexcept;

// Never more than fit into the image. Needs tables.symbols inside it. With no table to tell: as far
// as the string table, where that comes later, else to the end of the image.
std::uint64_t symbol_count(Bytes image, const Elf64_Ehdr& header,
                           const SymbolTables& tables) noexcept;

}  // namespace vvarclock::discover
