// Length and operands of one x86 instruction of 64-bit or 32-bit code, as far as integer code needs
// it.
//
// Knows the one-byte, 0F, 0F38 and 0F3A opcode maps. Does not know VEX, EVEX and 3DNow! (vDSO clock
// functions are built without vector registers): those, opcodes that the mode has not, and 16-bit
// addresses come back with length 0. Does not check that the CPU would accept the combination of
// operands. Pure; never reads past the span; the same on every host. Source: Intel SDM volume 2,
// appendix A (opcode maps) and chapter 2 (instruction format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "arch/x86/code_width.h"
#include "arch/x86/opcode_forms.h"

namespace vvarclock::arch {

enum class OpcodeMap : std::uint8_t { kOneByte, k0f, k0f38, k0f3a };

struct Instruction {
  std::uint8_t length = 0;  // bytes; 0: not understood, or cut off by the end of the span
  OpcodeMap map = OpcodeMap::kOneByte;
  std::uint8_t opcode = 0;
  bool wide = false;  // REX.W: 64-bit operands
  bool odd = false;   // has a prefix that changes the meaning (66, 67, F2, F3, FS, GS)
  bool has_modrm = false;
  bool rip = false;    // the memory operand is RIP + displacement
  bool fixed = false;  // the memory operand is at the displacement itself, sign-extended
  bool has_base =
      false;  // the memory operand counts from `base`, and from `index` if `scale` is set
  std::uint8_t mod = 0;    // 3: the operand is a register
  std::uint8_t reg = 0;    // 0-15, or the opcode's extension in the low 3 bits
  std::uint8_t rm = 0;     // 0-15: the register, or the base register when there is no SIB byte
  std::uint8_t base = 0;   // 0-15: base register of the memory operand, from SIB if there is one
  std::uint8_t index = 0;  // 0-15, when `scale` is not 0
  std::uint8_t scale = 0;  // 1, 2, 4 or 8; 0: no index register
  std::int32_t displacement = 0;
  std::int64_t immediate = 0;  // sign-extended; also the distance of a branch
};

inline constexpr std::uint8_t kRegisterSp = 4;
inline constexpr std::uint8_t kRegisterBp = 5;
inline constexpr std::size_t kLongestInstruction = 15;

namespace detail {

// A position in the bytes that cannot leave them.
class Cursor {
 public:
  constexpr explicit Cursor(std::span<const std::byte> bytes) noexcept
      : bytes_(
            bytes.first(bytes.size() < kLongestInstruction ? bytes.size() : kLongestInstruction)) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] std::uint8_t peek() const noexcept {
    return at_ < bytes_.size() ? std::to_integer<std::uint8_t>(bytes_[at_]) : std::uint8_t{0};
  }
  template <class T>
  T take() noexcept {
    T value{};
    if (bytes_.size() - at_ < sizeof value) {
      ok_ = false;
    } else {
      std::memcpy(&value, bytes_.data() + at_, sizeof value);
      at_ += sizeof value;
    }
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

struct Prefixes {
  bool word = false;           // 66
  bool other_address = false;  // 67
  bool odd = false;
  std::uint8_t rex = 0;
};

inline Prefixes take_prefixes(Cursor& in, CodeWidth width) noexcept {
  Prefixes p;
  for (;;) {
    const std::uint8_t byte = in.peek();
    p.word = p.word || byte == 0x66;
    p.other_address = p.other_address || byte == 0x67;
    switch (byte) {
      case 0x66:
      case 0x64:
      case 0x65:
      case 0x67:
      case 0xf2:
      case 0xf3:
        p.odd = true;
        [[fallthrough]];
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0xf0:
        in.take<std::uint8_t>();
        continue;
      default:
        break;
    }
    if (width == CodeWidth::k64 && (in.peek() & 0xf0U) == 0x40U) {
      p.rex = in.take<std::uint8_t>();
    }
    return p;
  }
}

inline void take_modrm(Cursor& in, unsigned rex, CodeWidth width, Instruction& out) noexcept {
  const unsigned modrm = in.take<std::uint8_t>();
  out.has_modrm = true;
  out.mod = static_cast<std::uint8_t>(modrm >> 6);
  out.reg = static_cast<std::uint8_t>(((modrm >> 3) & 7U) | ((rex & 4U) << 1));
  out.rm = static_cast<std::uint8_t>((modrm & 7U) | ((rex & 1U) << 3));
  out.base = out.rm;
  if (out.mod == 3) {
    return;
  }
  bool no_base = out.mod == 0 && (modrm & 7U) == 5U;
  out.rip = no_base && width == CodeWidth::k64;
  out.fixed = no_base && width == CodeWidth::k32;
  if ((modrm & 7U) == 4U) {
    const unsigned sib = in.take<std::uint8_t>();
    out.base = static_cast<std::uint8_t>((sib & 7U) | ((rex & 1U) << 3));
    no_base = out.mod == 0 && (sib & 7U) == 5U;
    const auto index = static_cast<std::uint8_t>(((sib >> 3) & 7U) | ((rex & 2U) << 2));
    if (index != kRegisterSp) {
      out.index = index;
      out.scale = static_cast<std::uint8_t>(1U << (sib >> 6));
    }
    out.fixed = no_base && out.scale == 0;
  }
  out.has_base = !no_base;
  if (out.mod == 1) {
    out.displacement = in.take<std::int8_t>();
  } else if (out.mod == 2 || no_base) {
    out.displacement = in.take<std::int32_t>();
  }
}

inline void take_immediate(Cursor& in, unsigned form, const Prefixes& prefixes,
                           Instruction& out) noexcept {
  if ((form & kTest) != 0 && (out.reg & 7U) < 2U) {
    form |= out.opcode == 0xf6 ? kImm8 : kImm32;
  }
  if ((form & kImm64) != 0) {
    form = out.wide ? kImm64 : kImm32;
  }
  if ((form & kBranch32) != 0 || ((form & kImm32) != 0 && !prefixes.word)) {
    out.immediate = in.take<std::int32_t>();
  } else if ((form & (kImm16 | kImm32)) != 0) {
    out.immediate = in.take<std::int16_t>();
  } else if ((form & kImm64) != 0) {
    out.immediate = in.take<std::int64_t>();
  }
  if ((form & kImm8) != 0) {
    out.immediate = in.take<std::int8_t>();
  }
}

// False for what only looks like the instruction in the tables: vector prefixes, 16-bit addresses,
// 16-bit branches.
inline bool is_32_bit(const Instruction& i, unsigned form, const Prefixes& prefixes) noexcept {
  const bool vector = i.map == OpcodeMap::kOneByte && i.mod == 3 &&
                      (i.opcode == 0x62 || i.opcode == 0xc4 || i.opcode == 0xc5);
  return !vector && !prefixes.other_address &&
         ((form & kBranch32) == 0 || !prefixes.word || (i.opcode & 0xfcU) == 0xa0U);
}

constexpr const FormTable& one_byte_forms(CodeWidth width) noexcept {
  return width == CodeWidth::k64 ? kOneByteForms : kOneByteForms32;
}

}  // namespace detail

inline Instruction decode(std::span<const std::byte> code,
                          CodeWidth width = CodeWidth::k64) noexcept {
  detail::Cursor in(code);
  const detail::Prefixes prefixes = detail::take_prefixes(in, width);
  Instruction out;
  out.odd = prefixes.odd;
  out.wide = (prefixes.rex & 8U) != 0;
  out.opcode = in.take<std::uint8_t>();
  unsigned form = detail::one_byte_forms(width)[out.opcode];
  if (out.opcode == 0x0f) {
    out.opcode = in.take<std::uint8_t>();
    out.map = OpcodeMap::k0f;
    form = detail::kTwoByteForms[out.opcode];
    if (out.opcode == 0x38 || out.opcode == 0x3a) {
      out.map = out.opcode == 0x38 ? OpcodeMap::k0f38 : OpcodeMap::k0f3a;
      form = detail::kModRm | (out.opcode == 0x3a ? detail::kImm8 : detail::kNone);
      out.opcode = in.take<std::uint8_t>();
    }
  }
  if ((form & detail::kBad) != 0 || !in.ok()) {
    return {};
  }
  if ((form & detail::kModRm) != 0) {
    detail::take_modrm(in, prefixes.rex, width, out);
  }
  detail::take_immediate(in, form, prefixes, out);
  if (!in.ok() || (width == CodeWidth::k32 && !detail::is_32_bit(out, form, prefixes))) {
    return {};
  }
  out.length = static_cast<std::uint8_t>(in.position());
  return out;
}

}  // namespace vvarclock::arch
