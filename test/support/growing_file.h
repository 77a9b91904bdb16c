// A file under construction, for image_builder.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace vvarclock::test {

inline std::size_t align(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

// Bytes that are appended and, later, corrected.
class GrowingFile {
 public:
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  std::size_t append(const void* data, std::size_t size) {
    const std::size_t at = bytes_.size();
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
    return at;
  }
  template <class T>
  std::size_t append(const T& value) {
    return append(&value, sizeof value);
  }
  template <class T>
  std::size_t append_all(const std::vector<T>& values) {
    pad(alignof(T));
    return append(values.data(), values.size() * sizeof(T));
  }
  void pad(std::size_t to, std::uint8_t with = 0) {
    bytes_.resize(align(bytes_.size(), to), std::byte{with});
  }
  void grow(std::size_t size) { bytes_.resize(size); }
  template <class T>
  void write(std::size_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// An ELF string table.
class Strings {
 public:
  std::uint32_t add(const std::string& text) {
    const auto at = static_cast<std::uint32_t>(text_.size());
    text_.insert(text_.end(), text.c_str(), text.c_str() + text.size() + 1);
    return at;
  }
  [[nodiscard]] const std::vector<char>& text() const { return text_; }

 private:
  std::vector<char> text_{'\0'};
};

}  // namespace vvarclock::test
