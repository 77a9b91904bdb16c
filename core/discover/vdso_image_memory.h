// Memory for libelf while one image is parsed, so that a program's start makes no heap: two page
// faults and three system calls.
//
// Has an effect only in the preload library, where libelf is inside and its malloc is answered from
// here (libelf_memory_link_args in meson.build) and which says where to keep a word. There every
// parse needs such an object, one at a time in the process: the constructor's. Elsewhere libelf
// takes the heap, where sanitizers watch it, and this object does nothing. What no longer fits is
// refused, as libelf would be by a full heap.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace vvarclock::discover {

// Where the object in use is noted. Defined by who links with libelf_memory_link_args: a variable
// here would be one page more that is written in every process.
extern void** const kLibelfMemorySlot [[gnu::weak]];

class LibelfMemory {
 public:
  explicit LibelfMemory(std::span<std::byte> bytes) noexcept;  // aligned for every type
  ~LibelfMemory();
  LibelfMemory(const LibelfMemory&) = delete;
  LibelfMemory& operator=(const LibelfMemory&) = delete;

  // Aligned for every type; null when there is not enough left. Nothing is given back but with the
  // whole. From the end down: where the stack grows down, what is not needed is not touched.
  [[nodiscard]] void* take(std::size_t size) noexcept;

 private:
  std::span<std::byte> left_;
};

// libelf 0.188 wants 332 bytes, 204 for each section and 264 for each piece that we look at: 5160
// for the 17 sections of kernel 6.18. On the stack, where the loader has been before; so it is not
// larger than needed.
template <std::size_t Sections, class Use>
[[gnu::noinline]] auto within_libelf_memory(Use& use) noexcept {
  alignas(std::max_align_t) std::array<std::byte, 2048 + 208 * Sections> bytes;
  const LibelfMemory memory(bytes);
  return use();
}

// use(), with memory for an image of so many sections.
template <class Use>
auto with_libelf_memory(std::size_t sections, Use use) noexcept {
  constexpr std::size_t kFew = 20;
  constexpr std::size_t kMany = 100;
  return sections <= kFew ? within_libelf_memory<kFew>(use) : within_libelf_memory<kMany>(use);
}

}  // namespace vvarclock::discover
