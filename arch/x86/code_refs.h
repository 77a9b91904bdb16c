// What a stretch of x86 code refers to: memory near it, distances between addresses, limits of
// unsigned comparisons.
//
// A linear decode, not a search for byte patterns: a pattern found in the middle of an instruction
// would be a wrong answer, while an instruction that the decoder does not know merely ends the
// walk. Addresses are offsets from the start of `image`, so that memory before the image is
// negative. 64-bit code names them relative to RIP; 32-bit code counts from a register that
// code_values.h follows. Promises nothing about code that computes addresses in other ways: it
// yields less, never something else. Pure; reads nothing outside the image; the same on every host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "arch/x86/code_paths.h"
#include "arch/x86/instruction.h"

namespace vvarclock::arch {

enum class CodeRefKind : std::uint8_t {
  kAddress,  // an address near the image is taken: `value` is the target
  kMemory,   // an operand near the image is read or written: `value` is the target
  kFixed,    // an operand at a fixed address, outside the image's reach: `value` is the address
  kStep,   // a 32-bit constant added to or subtracted from a whole register other than the stack's:
           // `value` without sign. In 32-bit code not where that makes an address of the image
  kLimit,  // an unsigned comparison with a constant decides a branch: `value` is the highest number
           // that passes
  kLeaves,  // a direct call, jump or branch to outside the stretch: `value` is the target
};

struct CodeRef {
  CodeRefKind kind;
  std::int64_t value;
};

// Where a stretch ends when its length is not known: after the return or jump that no earlier
// branch of the stretch passes.
enum class CodeExtent : std::uint8_t { kWholeStretch, kUntilReturn };

namespace detail {

constexpr bool is_one_byte(const Instruction& i) noexcept { return i.map == OpcodeMap::kOneByte; }

constexpr bool is_branch(const Instruction& i) noexcept {
  return is_one_byte(i) ? (i.opcode >= 0x70 && i.opcode <= 0x7f) || i.opcode == 0xe8 ||
                              i.opcode == 0xe9 || i.opcode == 0xeb
                        : i.map == OpcodeMap::k0f && i.opcode >= 0x80 && i.opcode <= 0x8f;
}

// Nothing runs on from here to the next instruction.
constexpr bool is_end(const Instruction& i) noexcept {
  if (is_one_byte(i)) {
    return i.opcode == 0xc3 || i.opcode == 0xe9 || i.opcode == 0xeb || i.opcode == 0xcc ||
           (i.opcode == 0xff && (i.reg & 7U) == 4U);
  }
  return i.map == OpcodeMap::k0f && i.opcode == 0x0b;
}

constexpr bool is_stack(std::uint8_t reg) noexcept {
  return reg == kRegisterSp || reg == kRegisterBp;
}

constexpr std::int64_t without_sign(std::int64_t value) noexcept {
  return value < 0 ? -value : value;
}

// The constant of a kStep, or 0; `number` becomes the register that it is added to.
constexpr std::int64_t step(const Instruction& i, std::uint8_t& number) noexcept {
  if (i.odd || !is_one_byte(i)) {
    return 0;
  }
  const bool add_or_sub = (i.reg & 7U) == 0U || (i.reg & 7U) == 5U;
  number = 0;
  if (i.opcode == 0x81 && i.mod == 3 && add_or_sub && !is_stack(i.rm)) {
    number = i.rm;
    return without_sign(i.immediate);
  }
  if (i.opcode == 0x05 || i.opcode == 0x2d) {  // add and sub to the accumulator
    return without_sign(i.immediate);
  }
  if (i.opcode == 0x8d && i.mod == 2 && !is_stack(i.base)) {
    number = i.base;
    return without_sign(i.displacement);
  }
  return 0;
}

// cmp $imm8, %r32; in 32-bit code also of an argument, which is on the stack.
constexpr bool is_compare(const Instruction& i, CodeWidth width) noexcept {
  const bool operand =
      i.mod == 3 || (width == CodeWidth::k32 && i.has_base && i.scale == 0 && is_stack(i.base));
  return is_one_byte(i) && i.opcode == 0x83 && (i.reg & 7U) == 7U && operand && !i.odd;
}

// The constant of the last comparison, as long as a branch can still belong to it.
class PendingCompare {
 public:
  // The highest number that passes, if `i` is the branch that a comparison with a positive constant
  // decides; else 0.
  constexpr std::int64_t take(const Instruction& i, CodeWidth width) noexcept {
    if (is_compare(i, width)) {
      constant_ = i.immediate;
      life_ = kLife;
      return 0;
    }
    if (life_ == 0) {
      return 0;
    }
    --life_;
    if (!is_branch(i)) {
      return 0;
    }
    life_ = 0;  // behind a call or a jump as well: what follows has other flags
    const unsigned condition = i.opcode & 0x0eU;
    if (constant_ <= 0 || (condition != kBelow && condition != kBelowOrEqual)) {
      return 0;
    }
    return condition == kBelow ? constant_ - 1 : constant_;
  }

 private:
  static constexpr unsigned kLife =
      4;  // instructions: compilers put moves between a comparison and its branch
  static constexpr unsigned kBelow = 2;
  static constexpr unsigned kBelowOrEqual = 6;
  std::int64_t constant_ = 0;
  unsigned life_ = 0;
};

// The operands and steps of one instruction of 64-bit code.
template <class Visit>
void visit_operand_64(const Instruction& i, std::int64_t next, Visit&& visit) noexcept {
  if (i.rip && !i.odd) {
    const bool address = is_one_byte(i) && i.opcode == 0x8d;
    visit(CodeRef{address ? CodeRefKind::kAddress : CodeRefKind::kMemory, next + i.displacement});
  }
  if (i.fixed && !i.odd) {
    visit(CodeRef{CodeRefKind::kFixed, i.displacement});
  }
  std::uint8_t number = 0;
  if (const std::int64_t distance = step(i, number); i.wide && distance != 0) {
    visit(CodeRef{CodeRefKind::kStep, distance});
  }
}

constexpr std::int64_t offset_of(CodeValue value) noexcept {
  return static_cast<std::int32_t>(value.number);
}

template <class Visit>
void visit_operand_32(const Instruction& i, const CodePaths& paths, Visit&& visit) noexcept {
  const CodeValues& values = paths.values();
  std::uint8_t number = 0;
  if (const std::int64_t distance = step(i, number); distance != 0) {
    const CodeValue from = values.reg(number);
    const bool inside =
        paths.is_fresh(number) || (from.kind == CodeValue::Kind::kAddress && offset_of(from) >= 0);
    if (!inside) {
      visit(CodeRef{CodeRefKind::kStep, distance});
    }
  }
  if (!i.has_modrm || i.mod == 3 || i.odd) {
    return;
  }
  const bool lea = is_one_byte(i) && i.opcode == 0x8d;
  if (i.fixed && !lea) {
    visit(CodeRef{CodeRefKind::kFixed, i.displacement});
    return;
  }
  const CodeValue from = values.registers_of(i);
  const CodeValue to = from + constant(i.displacement);
  const bool copy = lea && i.scale == 0 && i.displacement == 0;  // or a long no-op
  if (to.kind != CodeValue::Kind::kAddress || copy) {
    return;
  }
  if (!lea && i.scale != 0) {  // the sum of a base and a constant, taken on the way
    visit(CodeRef{CodeRefKind::kAddress, offset_of(from)});
  }
  visit(CodeRef{lea ? CodeRefKind::kAddress : CodeRefKind::kMemory, offset_of(to)});
}

// Who learns the ways through 32-bit code, and wants to hear nothing.
struct Silent {
  void operator()(const CodeRef&) const noexcept {}
};

template <class Visit>
void visit_operands(const Instruction& i, std::size_t next, CodePaths* paths,
                    Visit&& visit) noexcept {
  if (paths == nullptr) {
    visit_operand_64(i, static_cast<std::int64_t>(next), visit);
    return;
  }
  paths->enter(next - i.length);
  if constexpr (!std::is_same_v<std::remove_cvref_t<Visit>, Silent>) {
    if (!paths->is_lost()) {
      visit_operand_32(i, *paths, visit);
    }
  }
  paths->leave(i, next);
}

// One pass over the code. `paths`: of 32-bit code.
template <CodeWidth W, class Visit>
void walk(std::span<const std::byte> image, std::size_t begin, std::size_t end, CodeExtent extent,
          CodePaths* paths, Visit&& visit) noexcept {
  PendingCompare compare;
  std::int64_t furthest = 0;
  for (std::size_t at = begin; at < end;) {
    const Instruction i = decode(image.subspan(at, end - at), W);
    if (i.length == 0) {
      return;
    }
    at += i.length;
    const auto next = static_cast<std::int64_t>(at);
    visit_operands(i, at, paths, visit);
    if (const std::int64_t limit = compare.take(i, W); limit != 0) {
      visit(CodeRef{CodeRefKind::kLimit, limit});
    }
    if (is_branch(i)) {
      const std::int64_t target = next + i.immediate;
      const bool inside =
          target >= static_cast<std::int64_t>(begin) && target < static_cast<std::int64_t>(end);
      if (!inside && (paths == nullptr || !paths->is_thunk_call(i, at))) {
        visit(CodeRef{CodeRefKind::kLeaves, target});
      } else if (inside && i.opcode != 0xe8 && target > furthest) {
        furthest = target;
      }
    }
    if (extent == CodeExtent::kUntilReturn && is_end(i) && next > furthest) {
      return;
    }
  }
}

}  // namespace detail

// Calls `visit(CodeRef)` for everything that the code from `begin` to `end` refers to, in the order
// of the code.
template <CodeWidth W, class Visit>
void visit_code_refs(std::span<const std::byte> image, std::size_t begin, std::size_t end,
                     CodeExtent extent, Visit&& visit) noexcept {
  if (end > image.size()) {
    end = image.size();
  }
  if (begin >= end) {
    return;
  }
  if constexpr (W == CodeWidth::k64) {
    detail::walk<W>(image, begin, end, extent, nullptr, visit);
  } else {
    CodePaths paths(image, begin, end);
    while (paths.begin_pass()) {
      detail::walk<W>(image, begin, end, extent, &paths, detail::Silent{});
    }
    detail::walk<W>(image, begin, end, extent, &paths, visit);
  }
}

// The same for a width that is known at run time only.
template <class Visit>
void visit_code_refs(std::span<const std::byte> image, std::size_t begin, std::size_t end,
                     CodeExtent extent, Visit&& visit, CodeWidth width) noexcept {
  if (width == CodeWidth::k64) {
    visit_code_refs<CodeWidth::k64>(image, begin, end, extent, visit);
  } else {
    visit_code_refs<CodeWidth::k32>(image, begin, end, extent, visit);
  }
}

}  // namespace vvarclock::arch
