// What registers and spilled registers of 32-bit code are known to hold at a place: constants, and
// addresses of the image.
//
// 32-bit code has no RIP-relative operands. It takes its own address from a call that pushes it,
// adds a constant, and counts from there; and as registers are few, it keeps that base on its stack
// frame. Values are offsets from the start of the image, modulo 2^32.
//
// Where control may arrive from several places, only what all of them agree on is known. Trusts
// what compilers keep to: spilled values live in slots of a frame that ebp points to, and no
// pointer leads to those. Pure. Source: the i386 part of the System V ABI, and what compilers make
// of it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/x86/instruction.h"
#include "arch/x86/register_effects.h"

namespace vvarclock::arch {

struct CodeValue {
  enum class Kind : std::uint8_t {
    kUnknown,
    kConstant,
    kReturn,   // what a call has pushed, as it is
    kAddress,  // of the image, or of what surrounds it
  };
  Kind kind = Kind::kUnknown;
  std::uint32_t number = 0;

  constexpr bool operator==(const CodeValue&) const = default;
};

// Two addresses have no sum.
constexpr CodeValue operator+(CodeValue a, CodeValue b) noexcept {
  using Kind = CodeValue::Kind;
  if (a.kind == Kind::kUnknown || b.kind == Kind::kUnknown ||
      (a.kind != Kind::kConstant && b.kind != Kind::kConstant)) {
    return {};
  }
  const bool both = a.kind == Kind::kConstant && b.kind == Kind::kConstant;
  return {both ? Kind::kConstant : Kind::kAddress, a.number + b.number};
}

constexpr CodeValue constant(std::int64_t number) noexcept {
  return {CodeValue::Kind::kConstant, static_cast<std::uint32_t>(number)};
}

class CodeValues {
 public:
  // What an operand's registers add up to, without the displacement.
  [[nodiscard]] CodeValue registers_of(const Instruction& i) const noexcept {
    const CodeValue base = i.has_base ? registers_[i.base & 7U] : constant(0);
    if (i.scale == 0) {
      return base;
    }
    const CodeValue index = registers_[i.index & 7U];
    if (i.scale == 1) {
      return base + index;
    }
    return index.kind == CodeValue::Kind::kConstant ? base + constant(index.number * i.scale)
                                                    : CodeValue{};
  }
  [[nodiscard]] CodeValue reg(std::uint8_t number) const noexcept {
    return registers_[number & 7U];
  }

  void set(std::uint8_t number, CodeValue value) noexcept { registers_[number & 7U] = value; }

  // One instruction that is not a call.
  void run(const Instruction& i) noexcept {
    const Effects effects = effects_of(i);
    const CodeValue result = i.odd ? CodeValue{} : result_of(i);
    if (effects.everything) {
      *this = {};
      return;
    }
    if (effects.memory && i.has_base && i.base == kRegisterBp) {
      forget_slots(i.displacement, i.scale != 0);
    } else if (effects.memory && i.has_base && i.base == kRegisterSp) {
      forget_slots(0, true);
    }
    const CodeValue stored = is_move_to_memory(i) ? registers_[i.reg & 7U] : CodeValue{};
    forget(effects.registers);
    if (is_frame_slot(i) && is_move_to_memory(i)) {
      keep_slot(i.displacement, stored);
    } else if (target_of(i) != kRegisterSp) {
      set_known(target_of(i), result);
    }
  }

  // After a call that is no thunk.
  void forget_call() noexcept { forget(effects_of_call()); }

  // Leaves what both know; true when that is less than before.
  bool meet(const CodeValues& other) noexcept {
    bool less = false;
    for (std::size_t i = 0; i < registers_.size(); ++i) {
      less |= forget_unless(registers_[i], registers_[i] == other.registers_[i]);
    }
    for (Slot& slot : slots_) {
      less |= forget_unless(slot.value, slot.value == other.slot(slot.place));
    }
    return less;
  }

 private:
  static constexpr std::size_t kSlots = 4;
  struct Slot {
    std::int32_t place = 0;  // from ebp
    CodeValue value;
  };

  static bool is_frame_slot(const Instruction& i) noexcept {
    return i.has_base && i.base == kRegisterBp && i.scale == 0 && i.mod != 3 && !i.odd;
  }
  static bool is_move_to_memory(const Instruction& i) noexcept {
    return i.map == OpcodeMap::kOneByte && i.opcode == 0x89 && i.mod != 3 && !i.odd;
  }
  static constexpr std::uint8_t effects_of_call() noexcept { return 0b111; }  // eax, ecx, edx

  void set_known(std::uint8_t number, CodeValue value) noexcept {
    if (value.kind != CodeValue::Kind::kUnknown) {
      registers_[number] = value;
    }
  }

  static bool forget_unless(CodeValue& value, bool agreed) noexcept {
    if (agreed || value.kind == CodeValue::Kind::kUnknown) {
      return false;
    }
    value = {};
    return true;
  }

  void forget(std::uint8_t registers) noexcept {
    for (unsigned left = registers; left != 0; left &= left - 1) {
      registers_[static_cast<std::size_t>(std::countr_zero(left))] = {};
    }
    if ((registers & (1U << kRegisterBp)) != 0) {
      forget_slots(0, true);
    }
  }

  void forget_slots(std::int32_t place, bool all) noexcept {
    for (Slot& slot : slots_) {
      const std::int64_t distance = std::int64_t{slot.place} - place;
      if (all || (distance > -4 && distance < 4)) {
        slot.value = {};
      }
    }
  }

  [[nodiscard]] CodeValue slot(std::int32_t place) const noexcept {
    for (const Slot& slot : slots_) {
      if (slot.place == place && slot.value.kind != CodeValue::Kind::kUnknown) {
        return slot.value;
      }
    }
    return {};
  }

  void keep_slot(std::int32_t place, CodeValue value) noexcept {
    if (value.kind == CodeValue::Kind::kUnknown) {
      return;
    }
    for (Slot& slot : slots_) {
      if (slot.value.kind == CodeValue::Kind::kUnknown) {
        slot = {place, value};
        return;
      }
    }
  }

  // The register that result_of() is for.
  static std::uint8_t target_of(const Instruction& i) noexcept {
    switch (i.opcode) {
      case 0x01:
      case 0x81:
      case 0x83:
      case 0x89:
      case 0xc7:
        return i.rm & 7U;
      case 0x05:
      case 0x2d:
        return 0;
      case 0x03:
      case 0x8b:
      case 0x8d:
        return i.reg & 7U;
      default:
        return i.opcode & 7U;
    }
  }

  // Of the instructions that make a known value out of known ones.
  [[nodiscard]] CodeValue result_of(const Instruction& i) const noexcept {
    if (i.map != OpcodeMap::kOneByte) {
      return {};
    }
    const bool in_registers = i.mod == 3;
    const unsigned extension = i.reg & 7U;
    switch (i.opcode) {
      case 0x01:
      case 0x03:
        return in_registers ? reg(i.rm) + reg(i.reg) : CodeValue{};
      case 0x05:
        return reg(0) + constant(i.immediate);
      case 0x2d:
        return reg(0) + constant(-i.immediate);
      case 0x81:
      case 0x83:
        return !in_registers    ? CodeValue{}
               : extension == 0 ? reg(i.rm) + constant(i.immediate)
               : extension == 5 ? reg(i.rm) + constant(-i.immediate)
                                : CodeValue{};
      case 0x89:
        return in_registers ? reg(i.reg) : CodeValue{};
      case 0x8b:
        return in_registers ? reg(i.rm) : is_frame_slot(i) ? slot(i.displacement) : CodeValue{};
      case 0x8d:
        return registers_of(i) + constant(i.displacement);
      case 0xc7:
        return in_registers && extension == 0 ? constant(i.immediate) : CodeValue{};
      default:
        return i.opcode >= 0xb8 && i.opcode <= 0xbf ? constant(i.immediate) : CodeValue{};
    }
  }

  std::array<CodeValue, kRegisters32> registers_{};
  std::array<Slot, kSlots> slots_{};
};

}  // namespace vvarclock::arch
