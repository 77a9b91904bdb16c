#include "doctor/text.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace vvarclock::doctor {

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string hex_byte(std::byte value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto number = std::to_integer<unsigned>(value);
  return {kDigits[number >> 4], kDigits[number & 15U]};
}

std::string fixed(double value, int places) {
  std::array<char, 400> digits{};  // the largest double has 309 before the point
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, places)
                       .ptr;
  return {digits.data(), end};
}

std::string version_of(std::uint32_t code) {
  return std::to_string(code >> 16) + '.' + std::to_string((code >> 8) & 255U) + '.' +
         std::to_string(code & 255U);
}

std::string left(std::string text, std::size_t width) {
  text.resize(text.size() < width ? width : text.size(), ' ');
  return text;
}

std::string right(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : std::move(text);
}

}  // namespace vvarclock::doctor
