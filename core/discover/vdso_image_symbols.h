// The number of an image's dynamic symbols.
//
// A dynamic section does not say how many symbols there are; hash tables and section headers do,
// and an image may have any or none of them. Pure: bytes in, number out. Does not need libelf.
#pragma once

#include <cstdint>

#include "core/discover/vdso_image_header.h"

namespace vvarclock::discover {

// An offset that no image reaches.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// The tables that the dynamic section names, as offsets from the start of the image.
struct SymbolTables {
  std::uint64_t symbols = kNowhere;
  std::uint64_t strings = kNowhere;
  std::uint64_t strings_size = kNowhere;
  std::uint64_t hash = kNowhere;
  std::uint64_t gnu_hash = kNowhere;
  std::uint64_t symbol_size = 0;  // 0: not said
};

// Never more than fit into the image. Needs tables.symbols inside it. With no table to tell: as far
// as the string table, where that comes later, else to the end of the image.
std::uint64_t symbol_count(Bytes image, const ImageHeader& header,
                           const SymbolTables& tables) noexcept;

}  // namespace vvarclock::discover
