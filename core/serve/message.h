// One line of text, built without allocation, stdio or locale, and written by write(2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vvarclock::serve {

// Appends text and numbers to a fixed buffer; what does not fit is dropped. C is the capacity in
// bytes.
template <std::size_t C>
class TextBuffer {
 public:
  TextBuffer& operator<<(std::string_view text) noexcept {
    for (const char c : text) {
      if (size_ < C) {
        bytes_[size_++] = c;
      }
    }
    return *this;
  }
  TextBuffer& operator<<(char c) noexcept { return *this << std::string_view(&c, 1); }
  TextBuffer& decimal(std::uint64_t value) noexcept;
  TextBuffer& signed_decimal(std::int64_t value) noexcept {
    return value < 0 ? (*this << '-').decimal(0 - static_cast<std::uint64_t>(value))
                     : decimal(static_cast<std::uint64_t>(value));
  }
  TextBuffer& hex(std::uint64_t value) noexcept;
  // Quoted: control characters and bytes outside ASCII become '?'; at most `limit` characters of
  // it.
  TextBuffer& quoted(std::string_view text, std::size_t limit = 64) noexcept;
  // A JSON string with its quotes.
  TextBuffer& json(std::string_view text) noexcept;

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  [[nodiscard]] bool full() const noexcept { return size_ == C; }

 private:
  std::array<char, C> bytes_;
  std::size_t size_ = 0;
};

// Writes all of it to the descriptor, restarting after signals. errno may change.
void write_all(int descriptor, std::string_view text) noexcept;

// "vvarclock: " text "\n" on standard error.
void say(std::string_view text) noexcept;

}  // namespace vvarclock::serve

#include "core/serve/message_inl.h"
