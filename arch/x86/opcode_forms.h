// What follows each x86 opcode: the tables of instruction.h.
//
// Source: Intel SDM volume 2, appendix A (opcode maps). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vvarclock::arch::detail {

// What follows an opcode.
enum Form : std::uint8_t {
  kNone = 0,
  kModRm = 1,
  kImm8 = 2,
  kImm32 = 4,  // 16 bits with prefix 66
  kImm64 = 8,  // mov to a register: 32 bits without REX.W
  kImm16 = 16,
  kBranch32 = 32,  // 32 bits whatever the prefixes say
  kTest = 64,      // ModRM; an immediate only with extension 0 or 1
  kBad = 128,
};

using FormTable = std::array<std::uint8_t, 256>;

struct FormRange {
  std::uint8_t first;
  std::uint8_t last;
  unsigned form;
};

template <std::size_t N>
constexpr FormTable override_forms(FormTable table, const FormRange (&ranges)[N]) {
  for (const FormRange& range : ranges) {
    for (unsigned i = range.first; i <= range.last; ++i) {
      table[i] = static_cast<std::uint8_t>(range.form);
    }
  }
  return table;
}

template <std::size_t N>
constexpr FormTable make_forms(unsigned otherwise, const FormRange (&ranges)[N]) {
  FormTable table{};
  for (std::uint8_t& form : table) {
    form = static_cast<std::uint8_t>(otherwise);
  }
  return override_forms(table, ranges);
}

// Of 64-bit code. Prefixes never get to the tables. A later line overrides an earlier one.
inline constexpr FormTable kOneByteForms = make_forms(
    kNone, {{0x00, 0x3f, kModRm},  // add, or, adc, sbb, and, sub, xor, cmp
            {0x04, 0x04, kImm8},
            {0x05, 0x05, kImm32},
            {0x06, 0x07, kBad},
            {0x0c, 0x0c, kImm8},
            {0x0d, 0x0d, kImm32},
            {0x0e, 0x0f, kBad},
            {0x14, 0x14, kImm8},
            {0x15, 0x15, kImm32},
            {0x16, 0x17, kBad},
            {0x1c, 0x1c, kImm8},
            {0x1d, 0x1d, kImm32},
            {0x1e, 0x1f, kBad},
            {0x24, 0x24, kImm8},
            {0x25, 0x25, kImm32},
            {0x26, 0x27, kBad},
            {0x2c, 0x2c, kImm8},
            {0x2d, 0x2d, kImm32},
            {0x2e, 0x2f, kBad},
            {0x34, 0x34, kImm8},
            {0x35, 0x35, kImm32},
            {0x36, 0x37, kBad},
            {0x3c, 0x3c, kImm8},
            {0x3d, 0x3d, kImm32},
            {0x3e, 0x3f, kBad},
            {0x60, 0x62, kBad},
            {0x63, 0x63, kModRm},
            {0x68, 0x68, kImm32},
            {0x69, 0x69, kModRm | kImm32},
            {0x6a, 0x6a, kImm8},
            {0x6b, 0x6b, kModRm | kImm8},
            {0x70, 0x7f, kImm8},
            {0x80, 0x83, kModRm | kImm8},
            {0x81, 0x81, kModRm | kImm32},
            {0x82, 0x82, kBad},
            {0x84, 0x8f, kModRm},
            {0x9a, 0x9a, kBad},
            {0xa0, 0xa3, kBad},  // 64-bit absolute addresses: not in position-independent code
            {0xa8, 0xa8, kImm8},
            {0xa9, 0xa9, kImm32},
            {0xb0, 0xb7, kImm8},
            {0xb8, 0xbf, kImm64},
            {0xc0, 0xc1, kModRm | kImm8},
            {0xc2, 0xc2, kImm16},
            {0xc4, 0xc5, kBad},  // VEX
            {0xc6, 0xc6, kModRm | kImm8},
            {0xc7, 0xc7, kModRm | kImm32},
            {0xc8, 0xc8, kImm16 | kImm8},
            {0xca, 0xca, kImm16},
            {0xcd, 0xcd, kImm8},
            {0xce, 0xce, kBad},
            {0xd0, 0xd3, kModRm},
            {0xd4, 0xd6, kBad},
            {0xd8, 0xdf, kModRm},
            {0xe0, 0xe7, kImm8},
            {0xe8, 0xe9, kBranch32},
            {0xea, 0xea, kBad},
            {0xeb, 0xeb, kImm8},
            {0xf6, 0xf7, kModRm | kTest},
            {0xfe, 0xff, kModRm}});

// What 32-bit code has otherwise. Far calls and jumps (9A, EA) are left out. 62, C4 and C5 with a
// register for their operand are EVEX and VEX: instruction.h refuses those.
inline constexpr FormTable kOneByteForms32 =
    override_forms(kOneByteForms, {{0x06, 0x07, kNone},  // push and pop of segment registers
                                   {0x0e, 0x0e, kNone},
                                   {0x16, 0x17, kNone},
                                   {0x1e, 0x1f, kNone},
                                   {0x27, 0x27, kNone},  // daa, das, aaa, aas
                                   {0x2f, 0x2f, kNone},
                                   {0x37, 0x37, kNone},
                                   {0x3f, 0x3f, kNone},
                                   {0x40, 0x4f, kNone},   // inc, dec
                                   {0x60, 0x61, kNone},   // pusha, popa
                                   {0x62, 0x62, kModRm},  // bound
                                   {0x82, 0x82, kModRm | kImm8},
                                   {0xa0, 0xa3, kBranch32},  // an address, whatever the prefixes
                                   {0xc4, 0xc5, kModRm},     // les, lds
                                   {0xce, 0xce, kNone},      // into
                                   {0xd4, 0xd5, kImm8}});    // aam, aad

inline constexpr FormTable kTwoByteForms = make_forms(
    kModRm,
    {{0x04, 0x04, kBad},           {0x05, 0x09, kNone},          {0x0a, 0x0a, kBad},
     {0x0b, 0x0b, kNone},          {0x0c, 0x0c, kBad},           {0x0e, 0x0e, kNone},
     {0x0f, 0x0f, kBad},           {0x24, 0x27, kBad},           {0x30, 0x37, kNone},
     {0x38, 0x3f, kBad},  // 38 and 3A are maps of their own
     {0x70, 0x73, kModRm | kImm8}, {0x77, 0x77, kNone},          {0x80, 0x8f, kBranch32},
     {0xa0, 0xa2, kNone},          {0xa4, 0xa4, kModRm | kImm8}, {0xa6, 0xa7, kBad},
     {0xa8, 0xaa, kNone},          {0xac, 0xac, kModRm | kImm8}, {0xba, 0xba, kModRm | kImm8},
     {0xc2, 0xc2, kModRm | kImm8}, {0xc4, 0xc6, kModRm | kImm8}, {0xc8, 0xcf, kNone}});

}  // namespace vvarclock::arch::detail
