// The bodies of TextBuffer; included by message.h alone.
#pragma once

#include "core/serve/message.h"

namespace vvarclock::serve {

template <std::size_t C>
TextBuffer<C>& TextBuffer<C>::decimal(std::uint64_t value) noexcept {
  std::array<char, 20> digits;
  std::size_t at = digits.size();
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return *this << std::string_view(digits.data() + at, digits.size() - at);
}

template <std::size_t C>
TextBuffer<C>& TextBuffer<C>::hex(std::uint64_t value) noexcept {
  std::array<char, 16> digits;
  std::size_t at = digits.size();
  do {
    digits[--at] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  return *this << "0x" << std::string_view(digits.data() + at, digits.size() - at);
}

template <std::size_t C>
TextBuffer<C>& TextBuffer<C>::quoted(std::string_view text, std::size_t limit) noexcept {
  *this << '\'';
  for (const char c : text.substr(0, limit)) {
    *this << (c >= ' ' && c <= '~' ? c : '?');
  }
  return *this << (text.size() > limit ? "...'" : "'");
}

template <std::size_t C>
TextBuffer<C>& TextBuffer<C>::json(std::string_view text) noexcept {
  *this << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *this << '\\';
    }
    *this << (c >= ' ' && c <= '~' ? c : '?');
  }
  return *this << '"';
}

}  // namespace vvarclock::serve
