// Guards against: a 32-bit image whose headers are read by the rules of the other class.
//
// vdso_image_test.cc has what both classes share.
#include <elf.h>

#include <cstring>
#include <vector>

#include "core/discover/vdso_image.h"
#include "test/support/catch.h"
#include "test/support/image_builder.h"

namespace vvarclock::discover {
namespace {

using test::GuardedBytes;

test::ImageSpec newest() { return test::vdso_like(vvar::kLayouts[0], arch::CodeWidth::k32); }

TEST_CASE("a 32-bit image that cannot be used is refused by name") {
  const std::vector<std::byte> bytes = test::build_image(newest());
  const auto refused = [&](std::size_t at, auto value) {
    std::vector<std::byte> broken = bytes;
    std::memcpy(broken.data() + at, &value, sizeof value);
    VdsoImage image;
    return parse_vdso_image(GuardedBytes(broken, GuardedBytes::Guard::kAfter).get(), image,
                            arch::CodeWidth::k32);
  };
  const std::size_t segments = sizeof(Elf32_Ehdr);
  CHECK(refused(EI_CLASS, std::uint8_t{ELFCLASS64}) == ImageError::kNotElf);
  // x32: the same class, code for the other width.
  CHECK(refused(offsetof(Elf32_Ehdr, e_machine), std::uint16_t{EM_X86_64}) ==
        ImageError::kWrongMachine);
  CHECK(refused(offsetof(Elf32_Ehdr, e_phentsize), std::uint16_t{56}) == ImageError::kNotElf);
  CHECK(refused(offsetof(Elf32_Ehdr, e_phnum), std::uint16_t{PN_XNUM}) == ImageError::kNotElf);
  CHECK(refused(offsetof(Elf32_Ehdr, e_phoff), ~std::uint32_t{0}) == ImageError::kNotElf);
  CHECK(refused(segments + offsetof(Elf32_Phdr, p_filesz), ~std::uint32_t{0}) ==
        ImageError::kNoText);
  CHECK(refused(segments + sizeof(Elf32_Phdr), std::uint32_t{PT_NULL}) == ImageError::kNoDynamic);
  CHECK(refused(offsetof(Elf32_Ehdr, e_shoff), ~std::uint32_t{0}) == ImageError::kNone);
  for (std::size_t size = 0; size < newest().text_offset; ++size) {
    const GuardedBytes cut(std::span<const std::byte>(bytes).first(size),
                           GuardedBytes::Guard::kAfter);
    VdsoImage image;
    CHECK(parse_vdso_image(cut.get(), image, arch::CodeWidth::k32) != ImageError::kNone);
  }
}

TEST_CASE("the size that a 32-bit image claims, whichever segment is loaded") {
  test::ImageSpec spec = newest();
  spec.section_headers = false;
  std::vector<std::byte> bytes = test::build_image(spec);
  Elf32_Phdr segments[2];
  std::byte* const table = bytes.data() + sizeof(Elf32_Ehdr);
  std::memcpy(segments, table, sizeof segments);
  std::memcpy(table, &segments[1], sizeof segments[1]);
  std::memcpy(table + sizeof segments[1], &segments[0], sizeof segments[0]);
  CHECK(claimed_image_size(bytes, arch::CodeWidth::k32) == bytes.size());
  VdsoImage image;
  CHECK(parse_vdso_image(bytes, image, arch::CodeWidth::k32) == ImageError::kNone);
}

}  // namespace
}  // namespace vvarclock::discover
