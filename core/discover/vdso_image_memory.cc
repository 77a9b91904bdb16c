// See vdso_image_memory.h. The functions below are what the linker's --wrap makes of libelf's calls
// of the C library's; the host's own calls never come here, for all of it is hidden.
#include "core/discover/vdso_image_memory.h"

namespace vvarclock::discover {

LibelfMemory::LibelfMemory(std::span<std::byte> bytes) noexcept : left_(bytes) {
  if (&kLibelfMemorySlot != nullptr) {
    *kLibelfMemorySlot = this;
  }
}

LibelfMemory::~LibelfMemory() {
  if (&kLibelfMemorySlot != nullptr) {
    *kLibelfMemorySlot = nullptr;
  }
}

void* LibelfMemory::take(std::size_t size) noexcept {
  constexpr std::size_t kAlign = alignof(std::max_align_t);
  if (size > left_.size()) {
    return nullptr;
  }
  left_ = left_.first((left_.size() - size) / kAlign * kAlign);
  return left_.data() + left_.size();
}

}  // namespace vvarclock::discover

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names

void* __wrap_malloc(std::size_t size) noexcept {
  void* const memory = *vvarclock::discover::kLibelfMemorySlot;
  return memory == nullptr ? nullptr
                           : static_cast<vvarclock::discover::LibelfMemory*>(memory)->take(size);
}

void* __wrap_calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  void* const block = __builtin_mul_overflow(count, size, &bytes) ? nullptr : __wrap_malloc(bytes);
  // Not by memset: most starts have not come by its page of libc's code, and that is a page fault.
  volatile std::byte* const zeroed = static_cast<std::byte*>(block);
  for (std::size_t i = 0; zeroed != nullptr && i < bytes; ++i) {
    zeroed[i] = std::byte{0};
  }
  return block;
}

// libelf lets blocks grow only when it writes files.
void* __wrap_realloc(void* block, std::size_t size) noexcept {
  return block == nullptr ? __wrap_malloc(size) : nullptr;
}

void __wrap_free(void* /*block*/) noexcept {}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
