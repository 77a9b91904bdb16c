// See guarded_bytes.h.
#include "test/support/guarded_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "arch/x86/page.h"

namespace vvarclock::test {

using arch::kPageSize;

GuardedBytes::GuardedBytes(std::span<const std::byte> bytes, Guard guard) {
  const std::size_t body = std::max(arch::whole_pages(bytes.size()), kPageSize);
  const int file = memfd_create("guarded bytes", MFD_CLOEXEC);
  const bool sized = file >= 0 && ftruncate(file, static_cast<off_t>(body)) == 0;
  map_size_ = body + 2 * kPageSize;
  alias_size_ = body;
  void* map = mmap(nullptr, map_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* alias = mmap(nullptr, body, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (!sized || map == MAP_FAILED || alias == MAP_FAILED) {
    std::abort();
  }
  map_ = static_cast<std::byte*>(map);
  alias_ = static_cast<std::byte*>(alias);
  if (mmap(map_ + kPageSize, body, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    std::abort();
  }
  close(file);
  const std::size_t at = guard == Guard::kAfter ? body - bytes.size() : 0;
  bytes_ = {map_ + kPageSize + at, bytes.size()};
  writable_ = {alias_ + at, bytes.size()};
  std::copy(bytes.begin(), bytes.end(), writable_.begin());
}

GuardedBytes::~GuardedBytes() {
  munmap(map_, map_size_);
  munmap(alias_, alias_size_);
}

}  // namespace vvarclock::test
