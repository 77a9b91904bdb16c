// Guards against: a symbol at the wrong place (link base, tables as linked, weak names), a table
// that is taken for granted, a libelf that writes to the image.
//
// References: images of known content (test/support/image_builder.h); for the live vDSO, the
// dynamic loader's own look-up.
#include "core/discover/vdso_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstring>
#include <string>
#include <vector>

#include "test/support/catch.h"
#include "test/support/image_builder.h"

namespace vvarclock::discover {
namespace {

using test::Code;
using test::GuardedBytes;
using test::ImageSpec;

constexpr std::uint64_t kOldLinkBase = 0xffffffffff700000;  // 64-bit kernels before 3.16

ImageSpec newest() { return test::vdso_like(vvar::kLayouts[0]); }
ImageSpec newest_32() { return test::vdso_like(vvar::kLayouts[0], arch::CodeWidth::k32); }

template <class T>
void patch(std::vector<std::byte>& image, std::size_t at, T value) {
  std::memcpy(image.data() + at, &value, sizeof value);
}

ImageError parse(const std::vector<std::byte>& bytes, VdsoImage& image) {
  const GuardedBytes guarded(bytes, GuardedBytes::Guard::kAfter);
  return parse_vdso_image(guarded.get(), image);
}

ImageError parse(const std::vector<std::byte>& bytes) {
  VdsoImage image;
  return parse(bytes, image);
}

void check_function(const ImageSpec& spec, const char* name, const Function& function) {
  CAPTURE(name);
  CHECK(function.offset == test::offset_of(spec, name));
  for (const test::ImageFunction& known : spec.functions) {
    if (known.name == name && spec.symbol_sizes) {
      CHECK(function.size == known.code.raw().size());
    }
  }
}

void check_functions(const ImageSpec& spec, const VdsoImage& image) {
  check_function(spec, "__vdso_clock_gettime", image.clock_gettime);
  check_function(spec, "__vdso_gettimeofday", image.gettimeofday);
  check_function(spec, "__vdso_time", image.time);
  check_function(spec, "__vdso_clock_getres", image.clock_getres);
}

void check_parts(ImageSpec spec, unsigned parts, std::uint64_t base) {
  CAPTURE(spec.width, parts, base);
  spec.dt_hash = (parts & 1U) != 0;
  spec.dt_gnu_hash = (parts & 2U) != 0;
  spec.versions = (parts & 4U) != 0;
  spec.section_headers = (parts & 8U) != 0;
  spec.linux_version_code = (parts & 16U) != 0 ? 0x070304 : 0;
  spec.symbol_sizes = (parts & 32U) != 0;
  spec.link_base = base;
  const std::vector<std::byte> bytes = test::build_image(spec);
  const GuardedBytes guarded(bytes);
  VdsoImage image;
  REQUIRE(parse_vdso_image(guarded.get(), image, spec.width) == ImageError::kNone);
  check_functions(spec, image);
  CHECK(image.width == spec.width);
  CHECK(image.bytes.data() == guarded.get().data());
  CHECK(image.link_base == base);
  CHECK(image.linux_version_code == spec.linux_version_code);
  CHECK(image.text.data() == guarded.get().data());
  const bool told = spec.dt_hash || spec.dt_gnu_hash || spec.section_headers;
  const bool aliased = spec.width == arch::CodeWidth::k64;
  const std::uint32_t known =  // null, 4 functions, their weak names, the version
      (aliased ? 9U : 5U) + (spec.versions ? 1U : 0U);
  CHECK((told ? image.symbol_count == known : image.symbol_count > known));
}

TEST_CASE("images with any parts left out, at any link base") {
  constexpr std::uint64_t kOldLinkBase32 = 0xffffe000;
  for (unsigned parts = 0; parts < 64; ++parts) {
    for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{0x1000}}) {
      check_parts(newest(), parts, base);
      check_parts(newest_32(), parts, base);
    }
    check_parts(newest(), parts, kOldLinkBase);
    check_parts(newest_32(), parts, kOldLinkBase32);
  }
}

TEST_CASE("an image without symbol sizes: functions reach to the end of the text") {
  ImageSpec spec = newest();
  spec.symbol_sizes = false;
  VdsoImage image;
  REQUIRE(parse(test::build_image(spec), image) == ImageError::kNone);
  CHECK(image.clock_gettime.offset + image.clock_gettime.size == image.text.size());
}

TEST_CASE("the names without prefix serve when there are no others, and only then") {
  ImageSpec spec;
  spec.functions = {{"clock_gettime", Code().ret(), true, ""}};
  VdsoImage image;
  REQUIRE(parse(test::build_image(spec), image) == ImageError::kNone);
  CHECK(image.clock_gettime.offset == test::offset_of(spec, "clock_gettime"));

  for (const bool prefixed_first : {true, false}) {
    spec.functions = {{"clock_gettime", Code().ret(), true, ""},
                      {"__vdso_clock_gettime", Code().ret(), true, ""}};
    if (prefixed_first) {
      std::swap(spec.functions[0], spec.functions[1]);
    }
    REQUIRE(parse(test::build_image(spec), image) == ImageError::kNone);
    CHECK(image.clock_gettime.offset == test::offset_of(spec, "__vdso_clock_gettime"));
  }
}

TEST_CASE("the 64-bit names of 32-bit images stand in where the others are missing") {
  ImageSpec spec;
  spec.functions = {{"__vdso_clock_gettime64", Code().ret(), true, ""},
                    {"__vdso_clock_getres_time64", Code().ret(), true, ""}};
  VdsoImage image;
  REQUIRE(parse(test::build_image(spec), image) == ImageError::kNone);
  CHECK(image.clock_gettime.offset == test::offset_of(spec, "__vdso_clock_gettime64"));
  CHECK(image.clock_getres.offset == test::offset_of(spec, "__vdso_clock_getres_time64"));
  for (const bool first : {true, false}) {
    spec.functions = {{"__vdso_clock_gettime64", Code().ret(), true, ""},
                      {"__vdso_clock_gettime", Code().ret(), true, ""}};
    if (first) {
      std::swap(spec.functions[0], spec.functions[1]);
    }
    REQUIRE(parse(test::build_image(spec), image) == ImageError::kNone);
    CHECK(image.clock_gettime.offset == test::offset_of(spec, "__vdso_clock_gettime"));
  }
}

TEST_CASE("names that merely contain a known name are others") {
  for (const char* name :
       {"__vdso_clock_gettime6", "_vdso_clock_gettime", "__vdso_clock_gettim", "__vdso_", "x"}) {
    ImageSpec spec;
    spec.functions = {{name, Code().ret(), true, ""}};
    CAPTURE(name);
    CHECK(parse(test::build_image(spec)) == ImageError::kNoClock);
  }
}

TEST_CASE("what cannot be used is refused by name, and the result is left alone") {
  std::vector<std::byte> bytes = test::build_image(newest());
  const auto refused = [&](std::size_t at, auto value) {
    std::vector<std::byte> broken = bytes;
    patch(broken, at, value);
    VdsoImage image;
    image.link_base = 42;
    const ImageError error = parse(broken, image);
    CHECK((error == ImageError::kNone || image.link_base == 42));
    return error;
  };
  const std::size_t segments = sizeof(Elf64_Ehdr);
  CHECK(refused(0, char{'x'}) == ImageError::kNotElf);
  CHECK(refused(EI_CLASS, std::uint8_t{ELFCLASS32}) == ImageError::kNotElf);
  CHECK(refused(EI_DATA, std::uint8_t{ELFDATA2MSB}) == ImageError::kNotElf);
  CHECK(refused(EI_VERSION, std::uint8_t{0}) == ImageError::kNotElf);
  CHECK(refused(offsetof(Elf64_Ehdr, e_machine), std::uint16_t{EM_AARCH64}) ==
        ImageError::kWrongMachine);
  CHECK(refused(offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{0}) == ImageError::kNotElf);
  CHECK(refused(offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{PN_XNUM}) == ImageError::kNotElf);
  CHECK(refused(offsetof(Elf64_Ehdr, e_phentsize), std::uint16_t{32}) == ImageError::kNotElf);
  CHECK(refused(offsetof(Elf64_Ehdr, e_phoff), ~std::uint64_t{0}) == ImageError::kNotElf);
  CHECK(refused(segments + offsetof(Elf64_Phdr, p_flags), std::uint32_t{PF_R}) ==
        ImageError::kNoText);
  CHECK(refused(segments + offsetof(Elf64_Phdr, p_filesz), ~std::uint64_t{0}) ==
        ImageError::kNoText);
  CHECK(refused(segments + sizeof(Elf64_Phdr), std::uint32_t{PT_NULL}) == ImageError::kNoDynamic);
  CHECK(refused(offsetof(Elf64_Ehdr, e_shoff), ~std::uint64_t{0}) == ImageError::kNone);
  CHECK(parse({}) == ImageError::kNotElf);
  CHECK(parse(std::vector<std::byte>(4096)) == ImageError::kNotElf);
}

TEST_CASE("a table that claims more symbols than fit is read as far as they do") {
  ImageSpec spec = newest();
  spec.dt_hash = spec.dt_gnu_hash = false;
  std::vector<std::byte> bytes = test::build_image(spec);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  // Section 1 is the symbol table.
  patch(bytes, header.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
        ~std::uint64_t{0});
  VdsoImage image;
  REQUIRE(parse(bytes, image) == ImageError::kNone);
  check_functions(spec, image);
  CHECK(image.symbol_count < bytes.size() / sizeof(Elf64_Sym));
}

TEST_CASE("every error has words of its own") {
  std::vector<std::string> words;
  for (const ImageError error :
       {ImageError::kNone, ImageError::kNotElf, ImageError::kWrongMachine, ImageError::kNoText,
        ImageError::kNoDynamic, ImageError::kNoClock, ImageError::kLibelf}) {
    for (const std::string& other : words) {
      CHECK(other != describe(error));
    }
    words.emplace_back(describe(error));
    CHECK(words.back().size() > 5);
  }
}

TEST_CASE("the size that an image claims") {
  ImageSpec spec = newest();
  const std::vector<std::byte> whole = test::build_image(spec);
  CHECK(claimed_image_size(whole) == whole.size());  // the section headers are the last thing in it
  CHECK(claimed_image_size(std::span(whole).first(0x200)) == whole.size());
  CHECK(claimed_image_size(std::span(whole).first(sizeof(Elf64_Ehdr))) == 0);
  CHECK(claimed_image_size({}) == 0);
  CHECK(claimed_image_size(whole, arch::CodeWidth::k32) == 0);
  const std::vector<std::byte> narrow = test::build_image(newest_32());
  CHECK(claimed_image_size(narrow, arch::CodeWidth::k32) == narrow.size());
  CHECK(claimed_image_size(std::span(narrow).first(0x200), arch::CodeWidth::k32) == narrow.size());
  CHECK(claimed_image_size(narrow, arch::CodeWidth::k64) == 0);

  std::vector<std::byte> lying = whole;
  patch(lying, offsetof(Elf64_Ehdr, e_shoff), std::uint64_t{kMaxImageSize});
  CHECK(claimed_image_size(lying) < whole.size());  // as far as the segment
  patch(lying, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz),
        std::uint64_t{kMaxImageSize + 1});
  CHECK(claimed_image_size(lying) == 0);

  spec.section_headers = false;
  const std::vector<std::byte> bare = test::build_image(spec);
  CHECK(claimed_image_size(bare) == bare.size());
}

std::span<const std::byte> live_image() {
  const auto* start = reinterpret_cast<const std::byte*>(getauxval(AT_SYSINFO_EHDR));
  return start == nullptr ? std::span<const std::byte>{}
                          : std::span(start, claimed_image_size({start, 4096}));
}

// As the dynamic loader sees it.
Function by_loader(void* handle, const char* name, const std::byte* base) {
  const auto* address = static_cast<const std::byte*>(dlsym(handle, name));
  Dl_info info;
  void* extra = nullptr;
  if (address == nullptr || dladdr1(address, &info, &extra, RTLD_DL_SYMENT) == 0 ||
      extra == nullptr) {
    return {};
  }
  return {static_cast<std::uint64_t>(address - base),
          static_cast<const ElfW(Sym)*>(extra)->st_size};
}

void check_same(const Function& a, const Function& b) {
  CHECK(a.offset == b.offset);
  CHECK(a.size == b.size);
}

TEST_CASE("the live vDSO, against the dynamic loader") {
  const std::span<const std::byte> live = live_image();
  void* handle = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (live.empty() || handle == nullptr) {
    return test::skip("this process has no vDSO");
  }
  VdsoImage image;
  REQUIRE(parse_vdso_image(live, image) == ImageError::kNone);
  check_same(image.clock_gettime, by_loader(handle, "__vdso_clock_gettime", live.data()));
  check_same(image.gettimeofday, by_loader(handle, "__vdso_gettimeofday", live.data()));
  check_same(image.time, by_loader(handle, "__vdso_time", live.data()));
  check_same(image.clock_getres, by_loader(handle, "__vdso_clock_getres", live.data()));
  CHECK(image.linux_version_code >= 0x030000);
  dlclose(handle);
}

TEST_CASE("the live vDSO, cut short anywhere") {
  const std::span<const std::byte> live = live_image();
  if (live.empty()) {
    return test::skip("this process has no vDSO");
  }
  int parsed = 0;
  for (std::size_t size = 0; size <= live.size(); ++size) {
    const GuardedBytes cut(live.first(size));
    VdsoImage image;
    parsed += parse_vdso_image(cut.get(), image) == ImageError::kNone ? 1 : 0;
  }
  CHECK(parsed > 0);
}

}  // namespace
}  // namespace vvarclock::discover
