// See vdso_image_symbols.h.
#include "core/discover/vdso_image_symbols.h"

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

// Words nbucket, first hashed symbol, 64-bit words of the filter, shift; the filter; the buckets,
// each the first symbol of a chain; one chain word per hashed symbol, bit 0 set in the last of a
// chain.
std::uint64_t count_by_gnu_hash(Bytes image, std::uint64_t table) noexcept {
  std::uint32_t head[4];
  if (!read_at(image, table, head)) {
    return 0;
  }
  const std::uint64_t buckets =
      table + sizeof head + std::uint64_t{head[2]} * sizeof(std::uint64_t);
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

std::uint64_t count_by_sections(Bytes image, const Elf64_Ehdr& header,
                                std::uint64_t symbols) noexcept {
  const std::uint64_t size = section_table_size(header);
  if (!inside(header.e_shoff, size, image.size())) {
    return 0;
  }
  for (std::uint64_t at = 0; at < size; at += sizeof(Elf64_Shdr)) {
    Elf64_Shdr section{};
    read_at(image, header.e_shoff + at, section);
    if (section.sh_type == SHT_DYNSYM && section.sh_offset == symbols) {
      return section.sh_size / sizeof(Elf64_Sym);
    }
  }
  return 0;
}

}  // namespace

std::uint64_t section_table_size(const Elf64_Ehdr& header) noexcept {
  return header.e_shoff != 0 && header.e_shentsize == sizeof(Elf64_Shdr)
             ? header.e_shnum * sizeof(Elf64_Shdr)
             : 0;
}

std::uint64_t symbol_count(Bytes image, const Elf64_Ehdr& header,
                           const SymbolTables& tables) noexcept {
  std::uint64_t count = count_by_hash(image, tables.hash);
  if (count == 0) {
    count = count_by_gnu_hash(image, tables.gnu_hash);
  }
  if (count == 0) {
    count = count_by_sections(image, header, tables.symbols);
  }
  const std::uint64_t room = (image.size() - tables.symbols) / sizeof(Elf64_Sym);
  if (count == 0) {
    count = tables.strings > tables.symbols ? (tables.strings - tables.symbols) / sizeof(Elf64_Sym)
                                            : room;
  }
  return std::min(count, room);
}

}  // namespace vvarclock::discover
