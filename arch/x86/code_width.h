// Which of the two instruction sets a stretch of x86 code is in.
#pragma once

#include <cstdint>

namespace vvarclock::arch {

enum class CodeWidth : std::uint8_t { k32, k64 };

// Of the program that this is compiled into.
inline constexpr CodeWidth kOwnWidth = sizeof(void*) == 4 ? CodeWidth::k32 : CodeWidth::k64;

}  // namespace vvarclock::arch
