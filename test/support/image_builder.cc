// See image_builder.h.
#include "test/support/image_builder.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "arch/x86/page.h"
#include "test/support/growing_file.h"
#include "test/support/image_parts.h"

namespace vvarclock::test {
namespace {

constexpr std::size_t kFunctionAlignment = 16;
constexpr std::uint8_t kPadding = 0xcc;

[[noreturn]] void refuse(const char* why, const std::string& what = {}) {
  std::fprintf(stderr, "image_builder: %s %s\n", why, what.c_str());
  std::abort();
}

template <class Shape>
class Builder {
  using Header = typename Shape::Header;
  using SegmentHeader = typename Shape::SegmentHeader;
  using SectionHeader = typename Shape::SectionHeader;
  using SymbolEntry = typename Shape::SymbolEntry;
  using DynamicEntry = typename Shape::DynamicEntry;
  using Address = decltype(Header::e_entry);

 public:
  explicit Builder(const ImageSpec& spec) : spec_(spec), symbols_(make_symbols(spec)) {}

  std::vector<std::byte> build() {
    const std::size_t segments = 2 + (spec_.linux_version_code != 0 ? 1 : 0);
    file_.grow(sizeof(Header) + segments * sizeof(SegmentHeader));
    add_note();
    add_hashes();
    add_symbols();
    add_versions();
    add_dynamic();
    if (file_.size() > spec_.text_offset) {
      refuse("the headers reach past text_offset");
    }
    add_text();
    const std::size_t loaded = file_.size();
    add_sections();
    add_segments(loaded);
    add_header(segments);
    return file_.take();
  }

 private:
  Address address(std::size_t offset) const {
    return static_cast<Address>(spec_.link_base + offset);
  }
  void entry(std::int64_t tag, std::uint64_t value) {
    DynamicEntry dyn{};
    dyn.d_tag = static_cast<decltype(dyn.d_tag)>(tag);
    dyn.d_un.d_val = static_cast<Address>(value);
    dynamic_.push_back(dyn);
  }

  void add_note() {
    file_.pad(8);
    note_ = file_.size();
    if (spec_.linux_version_code != 0) {
      // A note of another owner comes first, as in some kernels.
      file_.append(Elf64_Nhdr{4, 4, NT_GNU_BUILD_ID});
      file_.append("GNU", 4);
      file_.append(std::uint32_t{0x12345678});
      file_.append(Elf64_Nhdr{6, 4, 0});
      file_.append("Linux\0\0", 8);
      file_.append(spec_.linux_version_code);
    }
    note_size_ = file_.size() - note_;
  }

  void add_hashes() {
    const auto count = static_cast<std::uint32_t>(symbols_.size() + 1);
    if (spec_.dt_hash) {  // one bucket, one chain through all symbols
      std::vector<std::uint32_t> hash{1, count, count > 1 ? 1U : 0U, 0};
      for (std::uint32_t i = 1; i < count; ++i) {
        hash.push_back(i + 1 < count ? i + 1 : 0);
      }
      entry(DT_HASH, address(file_.append_all(hash)));
    }
    if (spec_.dt_gnu_hash) {  // one bucket; a filter that lets everything through
      std::vector<std::uint32_t> hash{1, 1, 1, 0};
      hash.insert(hash.end(), sizeof(Address) / sizeof(std::uint32_t), ~0U);
      hash.push_back(count > 1 ? 1U : 0U);
      for (const Symbol& symbol : symbols_) {
        hash.push_back(gnu_hash(symbol.name) & ~1U);
      }
      hash.back() |= count > 1 ? 1U : 0U;
      file_.pad(8);
      entry(DT_GNU_HASH, address(file_.append_all(hash)));
    }
  }

  void add_symbols() {
    file_.pad(alignof(SymbolEntry));
    symtab_ = file_.append(SymbolEntry{});
    Strings strings;
    for (const Symbol& symbol : symbols_) {
      SymbolEntry entry{};
      entry.st_name = strings.add(symbol.name);
      entry.st_info = symbol.info;
      entry.st_shndx = symbol.section;
      entry.st_value = static_cast<Address>(symbol.value);
      entry.st_size = static_cast<decltype(entry.st_size)>(symbol.size);
      file_.append(entry);
    }
    // A gap: who counts symbols by the distance to the next table does not find the truth by luck.
    file_.grow(file_.size() + 2 * sizeof(SymbolEntry));
    soname_ = strings.add("linux-vdso.so.1");
    strtab_ = file_.append_all(strings.text());
    strtab_size_ = strings.text().size();
  }

  void add_versions() {
    if (!spec_.versions) {
      return;
    }
    std::vector<std::uint16_t> versym(symbols_.size() + 1, 2);
    versym[0] = 0;
    entry(DT_VERSYM, address(file_.append_all(versym)));
    file_.pad(8);
    const auto name = static_cast<std::uint32_t>(strtab_size_ - sizeof "linux-vdso.so.1");
    const std::size_t verdef = file_.append(Elf64_Verdef{
        VER_DEF_CURRENT, VER_FLG_BASE, 1, 1, gnu_hash("linux-vdso.so.1"), sizeof(Elf64_Verdef), 0});
    file_.append(Elf64_Verdaux{name, 0});
    entry(DT_VERDEF, address(verdef));
    entry(DT_VERDEFNUM, 1);
  }

  void add_dynamic() {
    entry(DT_STRTAB, address(strtab_));
    entry(DT_SYMTAB, address(symtab_));
    entry(DT_STRSZ, strtab_size_);
    entry(DT_SYMENT, sizeof(SymbolEntry));
    entry(DT_SONAME, soname_);
    entry(DT_NULL, 0);
    file_.pad(alignof(DynamicEntry));
    dynamic_at_ = file_.append_all(dynamic_);
  }

  void add_text() {
    file_.grow(spec_.text_offset);
    for (const ImageFunction& function : spec_.functions) {
      file_.pad(kFunctionAlignment, kPadding);
      const std::size_t at = file_.append_all(function.code.raw());
      for (const Code::Fix& fix : function.code.fixes()) {
        const std::int64_t target = fix.function.empty()
                                        ? fix.target
                                        : static_cast<std::int64_t>(offset_of(spec_, fix.function));
        file_.write(at + fix.at,
                    static_cast<std::int32_t>(target - static_cast<std::int64_t>(at + fix.end)));
      }
    }
  }

  void section(Strings& names, const char* name, std::uint32_t type, std::size_t offset,
               std::size_t size, std::size_t entry_size, std::uint32_t link = 0) {
    SectionHeader header{};
    header.sh_name = names.add(name);
    header.sh_type = type;
    header.sh_flags = type == SHT_PROGBITS ? SHF_ALLOC | SHF_EXECINSTR : SHF_ALLOC;
    header.sh_offset = static_cast<Address>(offset);
    header.sh_addr = type == SHT_STRTAB && offset > spec_.text_offset ? 0 : address(offset);
    header.sh_size = static_cast<Address>(size);
    header.sh_entsize = static_cast<Address>(entry_size);
    header.sh_link = link;
    header.sh_info = type == SHT_DYNSYM ? 1 : 0;
    sections_.push_back(header);
  }

  void add_sections() {
    if (!spec_.section_headers) {
      return;
    }
    Strings names;
    sections_.push_back({});
    section(names, ".dynsym", SHT_DYNSYM, symtab_, (symbols_.size() + 1) * sizeof(SymbolEntry),
            sizeof(SymbolEntry), 2);
    section(names, ".dynstr", SHT_STRTAB, strtab_, strtab_size_, 0);
    section(names, ".dynamic", SHT_DYNAMIC, dynamic_at_, dynamic_.size() * sizeof(DynamicEntry),
            sizeof(DynamicEntry), 2);
    section(names, ".text", SHT_PROGBITS, spec_.text_offset, file_.size() - spec_.text_offset, 0);
    const std::size_t at = file_.size();
    section(names, ".shstrtab", SHT_STRTAB, at, 0, 0);
    sections_.back().sh_size = static_cast<Address>(names.text().size());
    file_.append_all(names.text());
    sections_at_ = align(file_.size(), alignof(SectionHeader));
    file_.append_all(sections_);
  }

  SegmentHeader segment(std::uint32_t type, std::uint32_t flags, std::size_t offset,
                        std::size_t size, std::size_t alignment) const {
    SegmentHeader header{};
    header.p_type = type;
    header.p_flags = flags;
    header.p_offset = static_cast<Address>(offset);
    header.p_vaddr = header.p_paddr = address(offset);
    header.p_filesz = header.p_memsz = static_cast<Address>(size);
    header.p_align = static_cast<Address>(alignment);
    return header;
  }

  void add_segments(std::size_t loaded) {
    std::size_t at = sizeof(Header);
    file_.write(at, segment(PT_LOAD, PF_R | PF_X, 0, loaded, arch::kPageSize));
    at += sizeof(SegmentHeader);
    file_.write(at,
                segment(PT_DYNAMIC, PF_R, dynamic_at_, dynamic_.size() * sizeof(DynamicEntry), 8));
    at += sizeof(SegmentHeader);
    if (spec_.linux_version_code != 0) {
      file_.write(at, segment(PT_NOTE, PF_R, note_, note_size_, 4));
    }
  }

  void add_header(std::size_t segments) {
    Header header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = Shape::kClass;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = Shape::kMachine;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_shoff = static_cast<Address>(sections_at_);
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(SegmentHeader);
    header.e_phnum = static_cast<std::uint16_t>(segments);
    if (!sections_.empty()) {
      header.e_shentsize = sizeof(SectionHeader);
      header.e_shnum = static_cast<std::uint16_t>(sections_.size());
      header.e_shstrndx = static_cast<std::uint16_t>(sections_.size() - 1);
    }
    file_.write(0, header);
  }

  const ImageSpec& spec_;
  std::vector<Symbol> symbols_;
  GrowingFile file_;
  std::vector<DynamicEntry> dynamic_;
  std::vector<SectionHeader> sections_;
  std::size_t note_ = 0, note_size_ = 0, symtab_ = 0, strtab_ = 0, strtab_size_ = 0,
              dynamic_at_ = 0, sections_at_ = 0;
  std::uint32_t soname_ = 0;
};

}  // namespace

std::vector<std::byte> build_image(const ImageSpec& spec) {
  return spec.width == arch::CodeWidth::k32 ? Builder<Shape32>(spec).build()
                                            : Builder<Shape64>(spec).build();
}

std::size_t offset_of(const ImageSpec& spec, const std::string& function) {
  std::size_t at = spec.text_offset;
  for (const ImageFunction& candidate : spec.functions) {
    at = align(at, kFunctionAlignment);
    if (candidate.name == function) {
      return at;
    }
    at += candidate.code.raw().size();
  }
  refuse("no such function:", function);
}

}  // namespace vvarclock::test
