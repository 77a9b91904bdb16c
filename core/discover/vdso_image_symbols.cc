// See vdso_image_symbols.h.
#include "core/discover/vdso_image_symbols.h"

#include <elf.h>

#include <algorithm>

namespace vvarclock::discover {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint32_t);

// Words nbucket, nchain; the buckets; one chain word per symbol.
std::uint64_t count_by_hash(Bytes image, std::uint64_t table) noexcept {
  std::uint32_t head[2];
  if (!read_at(image, table, head)) {
    return 0;
  }
  const std::uint64_t rest = (std::uint64_t{head[0]} + head[1]) * kWord;
  return inside(table + sizeof head, rest, image.size()) ? head[1] : 0;
}

// Words nbucket, first hashed symbol, words of the filter (as wide as the class), shift; the
// filter; the buckets, each the first symbol of a chain; one chain word per hashed symbol, bit 0
// set in the last of a chain.
std::uint64_t count_by_gnu_hash(Bytes image, arch::CodeWidth width, std::uint64_t table) noexcept {
  const std::uint64_t filter_word = width == arch::CodeWidth::k32 ? 4 : 8;
  std::uint32_t head[4];
  if (!read_at(image, table, head)) {
    return 0;
  }
  const std::uint64_t buckets = table + sizeof head + std::uint64_t{head[2]} * filter_word;
  const std::uint64_t chains = buckets + std::uint64_t{head[0]} * kWord;
  std::uint64_t last = 0;
  for (std::uint64_t at = buckets; at < chains; at += kWord) {
    std::uint32_t first = 0;
    if (!read_at(image, at, first)) {
      return 0;
    }
    last = std::max<std::uint64_t>(last, first);
  }
  if (last < head[1]) {
    return head[1];
  }
  for (std::uint32_t word = 0; (word & 1U) == 0; ++last) {
    if (!read_at(image, chains + (last - head[1]) * kWord, word)) {
      return 0;
    }
  }
  return last;
}

template <class SectionHeader>
std::uint64_t count_by_sections(Bytes image, const ImageHeader& header,
                                std::uint64_t symbols) noexcept {
  if (!inside(header.sections, header.sections_size, image.size())) {
    return 0;
  }
  for (std::uint64_t at = 0; at < header.sections_size; at += sizeof(SectionHeader)) {
    SectionHeader section{};
    read_at(image, header.sections + at, section);
    if (section.sh_type == SHT_DYNSYM && section.sh_offset == symbols) {
      return section.sh_size / symbol_size(header.width);
    }
  }
  return 0;
}

}  // namespace

std::uint64_t symbol_count(Bytes image, const ImageHeader& header,
                           const SymbolTables& tables) noexcept {
  const std::size_t size = symbol_size(header.width);
  std::uint64_t count = count_by_hash(image, tables.hash);
  if (count == 0) {
    count = count_by_gnu_hash(image, header.width, tables.gnu_hash);
  }
  if (count == 0) {
    count = header.width == arch::CodeWidth::k32
                ? count_by_sections<Elf32_Shdr>(image, header, tables.symbols)
                : count_by_sections<Elf64_Shdr>(image, header, tables.symbols);
  }
  const std::uint64_t room = (image.size() - tables.symbols) / size;
  if (count == 0) {
    count = tables.strings > tables.symbols ? (tables.strings - tables.symbols) / size : room;
  }
  return std::min(count, room);
}

}  // namespace vvarclock::discover
