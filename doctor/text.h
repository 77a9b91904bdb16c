// Numbers and words as text. The C library's formats are not used: what they return would have to
// be checked every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vvarclock::doctor {

std::string hex(std::uint64_t value);                    // 0x...
std::string hex_byte(std::byte value);                   // two digits
std::string fixed(double value, int places);             // so many decimal places
std::string version_of(std::uint32_t code);              // LINUX_VERSION_CODE with dots
std::string left(std::string text, std::size_t width);   // filled with spaces behind
std::string right(std::string text, std::size_t width);  // filled with spaces before

}  // namespace vvarclock::doctor
