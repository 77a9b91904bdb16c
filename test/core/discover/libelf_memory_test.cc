// Guards against: an image that takes more memory than libelf is given and is not refused, a memory
// that runs low from one parse to the next, blocks that overlap, a libelf that takes the heap.
//
// Linked as the preload library is: malloc and its kin, as libelf calls them, end here. The other
// tests of images leave libelf the heap, where sanitizers watch it.
#include "core/discover/vdso_image_memory.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/discover/vdso_image.h"
#include "test/support/catch.h"
#include "test/support/image_builder.h"

// The linker's names of what libelf calls.
extern "C" {
void* __wrap_malloc(std::size_t size) noexcept;
void* __wrap_calloc(std::size_t count, std::size_t size) noexcept;
void* __wrap_realloc(void* block, std::size_t size) noexcept;
}

namespace vvarclock::discover {

namespace {
void* in_use = nullptr;
}
constinit void** const kLibelfMemorySlot = &in_use;

namespace {

// An image with a table of so many empty sections at its end.
std::vector<std::byte> image_with_sections(int sections) {
  std::vector<std::byte> image = test::build_image(test::vdso_like(vvar::kLayouts[0]));
  image.resize((image.size() + 7) / 8 * 8);
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  header.e_shoff = image.size();
  const auto count = static_cast<std::uint16_t>(sections);
  header.e_shnum = count;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shstrndx = 0;
  std::memcpy(image.data(), &header, sizeof header);
  image.resize(image.size() + count * sizeof(Elf64_Shdr));
  return image;
}

ImageError parse(const std::vector<std::byte>& bytes) {
  VdsoImage image;
  return parse_vdso_image(bytes, image);
}

TEST_CASE("images of so many sections are parsed, of more refused, and the next is parsed again") {
  for (const int sections : {1, 17, 20, 21, 50, 100}) {
    CAPTURE(sections);
    CHECK(parse(image_with_sections(sections)) == ImageError::kNone);
  }
  for (const int sections : {120, 200}) {
    CAPTURE(sections);
    const std::vector<std::byte> image = image_with_sections(sections);
    CHECK(parse(image) == ImageError::kLibelf);
    CHECK(parse(image_with_sections(17)) == ImageError::kNone);
  }
  CHECK(in_use == nullptr);
}

TEST_CASE("thousands of images") {
  const std::vector<std::byte> few = image_with_sections(17);
  const std::vector<std::byte> many = image_with_sections(100);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    refused += parse(i % 2 == 0 ? few : many) == ImageError::kNone ? 0 : 1;
  }
  CHECK(refused == 0);
}

TEST_CASE("blocks are aligned, apart from each other and within the memory, until it is full") {
  alignas(std::max_align_t) std::array<std::byte, 1000> bytes;
  LibelfMemory memory(bytes);
  const std::byte* above = bytes.data() + bytes.size();
  const auto take = [&](std::size_t size) {
    auto* const block = static_cast<std::byte*>(memory.take(size));
    if (block != nullptr) {
      CHECK(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t) == 0);
      CHECK(block >= bytes.data());
      CHECK(block + size <= above);
      above = block;
    }
    return block != nullptr;
  };
  std::size_t taken = 0;
  for (std::size_t size = 1; take(size); size += 7) {
    taken += size;
  }
  CHECK(taken > 700);
  CHECK_FALSE(take(SIZE_MAX));
  while (take(1)) {
  }
  CHECK(above < bytes.data() + alignof(std::max_align_t));
  CHECK_FALSE(take(1));
}

TEST_CASE("what libelf calls is answered from the memory in use, and by null without one") {
  CHECK(__wrap_malloc(1) == nullptr);
  alignas(std::max_align_t) std::array<std::byte, 512> bytes;
  bytes.fill(std::byte{0xff});
  const LibelfMemory memory(bytes);
  const auto inside = [&](void* block) {
    return block >= bytes.data() && block < bytes.data() + bytes.size();
  };
  CHECK(inside(__wrap_malloc(16)));
  auto* const zeroed = static_cast<std::byte*>(__wrap_calloc(5, 20));
  REQUIRE(inside(zeroed));
  CHECK(std::all_of(zeroed, zeroed + 100, [](std::byte b) { return b == std::byte{0}; }));
  CHECK(__wrap_calloc(SIZE_MAX / 2, 3) == nullptr);
  CHECK(inside(__wrap_realloc(nullptr, 16)));
  CHECK(__wrap_realloc(zeroed, 200) == nullptr);
}

}  // namespace
}  // namespace vvarclock::discover
