// See vdso_image.h. The only file that includes libelf.
//
// libelf checks most of what it reads against the size that it was given, but it trusts some header
// fields: the number of program headers may come from section 0, and older releases differ in what
// they do with a section table that is cut off. So the header is checked here first, and all else
// is asked for as raw chunks, whose bounds libelf checks and we check too. Sections only help to
// count symbols (vdso_image_symbols.h); libelf's own list of them is never used.
#include "core/discover/vdso_image.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/discover/vdso_image_memory.h"
#include "core/discover/vdso_image_symbols.h"

namespace vvarclock::discover {
namespace {

ImageError error_of(HeaderError error) noexcept {
  switch (error) {
    case HeaderError::kNone:
      return ImageError::kNone;
    case HeaderError::kNotElf:
      return ImageError::kNotElf;
    case HeaderError::kWrongMachine:
      break;
  }
  return ImageError::kWrongMachine;
}

class ElfHandle {
 public:
  // libelf only reads: the image is in memory that cannot be written.
  explicit ElfHandle(Bytes bytes) noexcept {
    if (elf_version(EV_CURRENT) != EV_NONE) {
      elf_ =
          elf_memory(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())), bytes.size());
    }
  }
  ~ElfHandle() { elf_end(elf_); }
  ElfHandle(const ElfHandle&) = delete;
  ElfHandle& operator=(const ElfHandle&) = delete;

  [[nodiscard]] Elf* get() const noexcept { return elf_; }

 private:
  Elf* elf_ = nullptr;
};

struct KnownFunction {
  std::string_view name;  // after "__vdso_", which is optional
  Function VdsoImage::*where;
  bool instead = false;  // only where the image has no other name for it
};

constexpr std::string_view kPrefix = "__vdso_";
// The last two are what 32-bit images have beside the first ones, and instead of them where the
// kernel is built without 32-bit time.
constexpr std::array<KnownFunction, 6> kFunctions{
    {{"clock_gettime", &VdsoImage::clock_gettime},
     {"gettimeofday", &VdsoImage::gettimeofday},
     {"time", &VdsoImage::time},
     {"clock_getres", &VdsoImage::clock_getres},
     {"clock_gettime64", &VdsoImage::clock_gettime, true},
     {"clock_getres_time64", &VdsoImage::clock_getres, true}}};

class Parser {
 public:
  Parser(Bytes bytes, const ImageHeader& header, Elf* elf) noexcept : header_(header), elf_(elf) {
    found_.bytes = bytes;
    found_.width = header.width;
    tables_.symbol_size = symbol_size(header.width);
  }

  ImageError run() noexcept {
    if (!read_segments()) {
      return ImageError::kNoText;
    }
    if (!read_dynamic() || !read_symbols()) {
      return ImageError::kNoDynamic;
    }
    return found_.clock_gettime.size != 0 ? ImageError::kNone : ImageError::kNoClock;
  }
  [[nodiscard]] const VdsoImage& found() const noexcept { return found_; }

 private:
  [[nodiscard]] std::uint64_t size() const noexcept { return found_.bytes.size(); }

  Elf_Data* chunk(std::uint64_t offset, std::uint64_t length, Elf_Type type) noexcept {
    return length != 0 && inside(offset, length, size())
               ? elf_getdata_rawchunk(elf_, static_cast<std::int64_t>(offset),
                                      static_cast<std::size_t>(length), type)
               : nullptr;
  }

  // Needs the segment inside the image.
  [[nodiscard]] Bytes bytes_of(const GElf_Phdr& segment) const noexcept {
    return found_.bytes.subspan(static_cast<std::size_t>(segment.p_offset),
                                static_cast<std::size_t>(segment.p_filesz));
  }

  bool read_segments() noexcept {
    bool base_known = false;
    for (std::uint32_t i = 0; i < header_.segment_count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) {
        return false;
      }
      if (segment.p_type == PT_LOAD) {
        if (!base_known) {
          found_.link_base = segment.p_vaddr - segment.p_offset;
          base_known = true;
        }
        if (found_.text.empty() && (segment.p_flags & PF_X) != 0 &&
            inside(segment.p_offset, segment.p_filesz, size())) {
          found_.text = bytes_of(segment);
        }
      } else if (segment.p_type == PT_DYNAMIC) {
        dynamic_ = segment;
      } else if (segment.p_type == PT_NOTE) {
        read_notes(segment);
      }
    }
    return !found_.text.empty();
  }

  void read_notes(const GElf_Phdr& segment) noexcept {
    constexpr char kOwner[] = "Linux";  // its terminator belongs to it
    Elf_Data* data =
        chunk(segment.p_offset, segment.p_filesz, segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    std::size_t name = 0;
    std::size_t descriptor = 0;
    for (std::size_t at = 0;
         data != nullptr && (at = gelf_getnote(data, at, &note, &name, &descriptor)) > 0;) {
      const Bytes bytes = bytes_of(segment);
      if (note.n_type == 0 && note.n_namesz == sizeof kOwner &&
          note.n_descsz == sizeof(std::uint32_t) && inside(name, note.n_namesz, bytes.size()) &&
          std::memcmp(bytes.data() + name, kOwner, sizeof kOwner) == 0) {
        read_at(bytes, descriptor, found_.linux_version_code);
      }
    }
  }

  bool read_dynamic() noexcept {
    Elf_Data* data = chunk(dynamic_.p_offset, dynamic_.p_filesz, ELF_T_DYN);
    GElf_Dyn entry;
    // gelf_getdyn refuses the first index past the chunk.
    for (int i = 0;
         data != nullptr && gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL;
         ++i) {
      // The values stay as linked: nothing relocates a vDSO.
      const std::uint64_t offset = entry.d_un.d_ptr - found_.link_base;
      switch (entry.d_tag) {
        case DT_SYMTAB:
          tables_.symbols = offset;
          break;
        case DT_STRTAB:
          tables_.strings = offset;
          break;
        case DT_HASH:
          tables_.hash = offset;
          break;
        case DT_GNU_HASH:
          tables_.gnu_hash = offset;
          break;
        case DT_STRSZ:
          tables_.strings_size = entry.d_un.d_val;
          break;
        case DT_SYMENT:
          tables_.symbol_size = entry.d_un.d_val;
          break;
        default:
          break;
      }
    }
    return tables_.symbols < size() && tables_.strings < size() &&
           tables_.symbol_size == symbol_size(header_.width);
  }

  bool read_symbols() noexcept {
    const std::uint64_t count = symbol_count(found_.bytes, header_, tables_);
    Elf_Data* data = chunk(tables_.symbols, count * tables_.symbol_size, ELF_T_SYM);
    if (data == nullptr) {
      return false;
    }
    found_.symbol_count = static_cast<std::uint32_t>(count);
    for (int i = 1; i < static_cast<int>(count); ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) != nullptr) {
        read_symbol(symbol);
      }
    }
    return true;
  }

  [[nodiscard]] std::string_view name_at(std::uint64_t offset) const noexcept {
    const std::uint64_t limit = std::min(tables_.strings_size, size() - tables_.strings);
    if (offset >= limit) {
      return {};
    }
    const char* start =
        reinterpret_cast<const char*>(found_.bytes.data()) + tables_.strings + offset;
    const void* end = std::memchr(start, 0, static_cast<std::size_t>(limit - offset));
    return end == nullptr
               ? std::string_view{}
               : std::string_view{start,
                                  static_cast<std::size_t>(static_cast<const char*>(end) - start)};
  }

  void read_symbol(const GElf_Sym& symbol) noexcept {
    const int type = GELF_ST_TYPE(symbol.st_info);
    const auto text = static_cast<std::uint64_t>(found_.text.data() - found_.bytes.data());
    const std::uint64_t offset = symbol.st_value - found_.link_base;
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_NOTYPE) || offset < text ||
        offset - text >= found_.text.size()) {
      return;
    }
    std::string_view name = name_at(symbol.st_name);
    const bool prefixed = name.substr(0, kPrefix.size()) == kPrefix;
    name.remove_prefix(prefixed ? kPrefix.size() : 0);
    for (const KnownFunction& known : kFunctions) {
      Function& function = found_.*known.where;
      const bool preferred = prefixed && !known.instead;
      if (name == known.name && (preferred || function.size == 0)) {
        const std::uint64_t rest = text + found_.text.size() - offset;
        function = {offset,
                    symbol.st_size == 0 ? rest : std::min<std::uint64_t>(symbol.st_size, rest)};
      }
    }
  }

  const ImageHeader& header_;
  Elf* elf_;
  GElf_Phdr dynamic_{};
  SymbolTables tables_;
  VdsoImage found_;
};

}  // namespace

std::size_t claimed_image_size(Bytes head, arch::CodeWidth width) noexcept {
  ImageHeader header;
  if (read_header(head, width, kMaxImageSize, header) != HeaderError::kNone) {
    return 0;
  }
  std::uint64_t claimed = 0;
  const auto claim = [&claimed](std::uint64_t offset, std::uint64_t length) {
    if (inside(offset, length, kMaxImageSize)) {
      claimed = std::max(claimed, offset + length);
    }
  };
  for (std::uint32_t i = 0; i < header.segment_count; ++i) {
    const Segment segment = read_segment(head, header, i);
    if (segment.type == PT_LOAD) {
      claim(segment.offset, segment.size);
    }
  }
  claim(header.sections, header.sections_size);
  return static_cast<std::size_t>(claimed);
}

ImageError parse_vdso_image(Bytes bytes, VdsoImage& image, arch::CodeWidth width) noexcept {
  bytes = bytes.first(std::min(bytes.size(), kMaxImageSize));
  ImageHeader header;
  if (const HeaderError error = read_header(bytes, width, kMaxImageSize, header);
      error != HeaderError::kNone) {
    return error_of(error);
  }
  return with_libelf_memory(header.section_count, [&]() noexcept {
    const ElfHandle elf(bytes);
    if (elf.get() == nullptr || elf_kind(elf.get()) != ELF_K_ELF) {
      return ImageError::kLibelf;
    }
    Parser parser(bytes, header, elf.get());
    const ImageError error = parser.run();
    if (error == ImageError::kNone) {
      image = parser.found();
    }
    return error;
  });
}

}  // namespace vvarclock::discover
