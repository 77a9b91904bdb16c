// What image_builder.cc builds from: the two shapes of an ELF file, and the symbols of an image.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "test/support/image_builder.h"

namespace vvarclock::test {

struct Shape32 {
  using Header = Elf32_Ehdr;
  using SegmentHeader = Elf32_Phdr;
  using SectionHeader = Elf32_Shdr;
  using SymbolEntry = Elf32_Sym;
  using DynamicEntry = Elf32_Dyn;
  static constexpr unsigned char kClass = ELFCLASS32;
  static constexpr std::uint16_t kMachine = EM_386;
};

struct Shape64 {
  using Header = Elf64_Ehdr;
  using SegmentHeader = Elf64_Phdr;
  using SectionHeader = Elf64_Shdr;
  using SymbolEntry = Elf64_Sym;
  using DynamicEntry = Elf64_Dyn;
  static constexpr unsigned char kClass = ELFCLASS64;
  static constexpr std::uint16_t kMachine = EM_X86_64;
};

// The hash function of DT_GNU_HASH.
inline std::uint32_t gnu_hash(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char c : name) {
    hash = hash * 33 + static_cast<unsigned char>(c);
  }
  return hash;
}

struct Symbol {
  std::string name;
  std::uint64_t value;
  std::uint64_t size;
  unsigned char info;
  std::uint16_t section;
};

inline constexpr std::uint16_t kTextSection = 4;

inline std::vector<Symbol> make_symbols(const ImageSpec& spec) {
  std::vector<Symbol> symbols;
  for (const ImageFunction& function : spec.functions) {
    const std::uint64_t value = spec.link_base + offset_of(spec, function.name);
    const std::uint64_t size = spec.symbol_sizes ? function.code.raw().size() : 0;
    if (function.exported) {
      symbols.push_back(
          {function.name, value, size, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), kTextSection});
    }
    if (!function.alias.empty()) {
      symbols.push_back(
          {function.alias, value, size, ELF64_ST_INFO(STB_WEAK, STT_FUNC), kTextSection});
    }
  }
  if (spec.versions) {
    symbols.push_back({"LINUX_2.6", 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), SHN_ABS});
  }
  return symbols;
}

}  // namespace vvarclock::test
