// Bytes in read-only memory whose neighbours may not be touched, so that a read or write that
// strays is a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vvarclock::test {

class GuardedBytes {
 public:
  enum class Guard : std::uint8_t {
    kAfter,   // the byte after the last one is not readable (the start is wherever that puts it)
    kBefore,  // starts at a page boundary, the byte before it is not readable; zeros up to the end
              // of the last page
  };
  explicit GuardedBytes(std::span<const std::byte> bytes, Guard guard = Guard::kAfter);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  [[nodiscard]] std::span<const std::byte> get() const { return bytes_; }
  // The same bytes through a second mapping, for the test to change them.
  [[nodiscard]] std::span<std::byte> writable() const { return writable_; }

 private:
  std::byte* map_;
  std::byte* alias_;
  std::size_t map_size_;
  std::size_t alias_size_;
  std::span<const std::byte> bytes_;
  std::span<std::byte> writable_;
};

}  // namespace vvarclock::test
