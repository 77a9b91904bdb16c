// The ways through a stretch of 32-bit code, and what is known on all of them at each instruction.
//
// Whoever reads the stretch tells each instruction in turn, and begins again until nothing new was
// learnt about a place that had been passed already. Jumps whose target is not known, and jumps out
// of the stretch, from where a part that the compiler has moved away may come back, are taken to
// lead everywhere but between a thunk's call and the addition that compilers write right behind it.
// Too large a stretch: nothing is known. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/x86/code_values.h"
#include "arch/x86/instruction.h"

namespace vvarclock::arch {

class CodePaths {
 public:
  CodePaths(std::span<const std::byte> image, std::size_t begin, std::size_t end) noexcept
      : image_(image), begin_(begin), end_(end), lost_(end - begin > kLongest) {}

  // True while another pass is needed; begins it.
  bool begin_pass() noexcept {
    const bool again = passes_ == 0 || (less_ && !lost_);
    less_ = false;
    now_ = {true, {}};
    returned_to_ = kNowhere;
    fresh_ = kNoRegister;
    lost_ = lost_ || ++passes_ > kMostPasses;
    return again;
  }

  // Before the instruction at `at`.
  void enter(std::size_t at) noexcept {
    if (is_marked(at)) {
      for (std::size_t i = 0; i < label_count_; ++i) {
        if (labels_[i].at == at) {
          now_.meet(labels_[i].flow);
        }
      }
      returned_to_ = kNowhere;
      fresh_ = kNoRegister;
    }
    if (fresh_ == kNoRegister) {
      now_.meet(anywhere_);
    }
  }

  // Nothing where no way is known to lead.
  [[nodiscard]] const CodeValues& values() const noexcept {
    return now_.reached && !lost_ ? now_.values : kUnknown;
  }

  // Is it no use to look at the operands of this stretch?
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

  // Has the instruction before this one put its own address into the register?
  [[nodiscard]] bool is_fresh(std::uint8_t number) const noexcept { return number == fresh_; }

  // Behind the instruction: `next` is the offset of what follows.
  void leave(const Instruction& i, std::size_t next) noexcept {
    const bool pops_return = returned_to_ + i.length == next && is_pop(i);
    const std::size_t returned_to = returned_to_;
    returned_to_ = kNowhere;
    fresh_ = kNoRegister;
    if (is_call(i)) {
      call(i, next);
    } else if (is_jump(i)) {
      now_.values.run(i);
      jump(next, static_cast<std::int64_t>(next) + i.immediate);
      now_.reached = now_.reached && !is_unconditional(i);
    } else if (is_indirect_jump(i)) {
      less_ |= now_.reached && anywhere_.meet(now_);
      now_.reached = false;
    } else if (is_return(i)) {
      now_.reached = false;
    } else {
      now_.values.run(i);
      if (pops_return) {
        take_own_address(i.opcode & 7U, returned_to);
      }
    }
  }

  // A call whose one effect is to say where it stands.
  [[nodiscard]] bool is_thunk_call(const Instruction& i, std::size_t next) const noexcept {
    std::uint8_t number = 0;
    return is_call(i) &&
           (i.immediate == 0 || is_thunk(static_cast<std::int64_t>(next) + i.immediate, number));
  }

 private:
  struct Flow {
    bool reached = false;
    CodeValues values;

    // Of two ways to one place. True when less is known, or the place is new.
    bool meet(const Flow& other) noexcept {
      if (!other.reached) {
        return false;
      }
      if (!reached) {
        *this = other;
        return true;
      }
      return values.meet(other.values);
    }
  };
  struct Label {
    std::size_t at;
    Flow flow;
  };

  static constexpr std::size_t kLongest = 4096;  // bytes; the longest clock function has 1600
  static constexpr std::size_t kLabels = 128;
  static constexpr int kMostPasses = 16;
  static constexpr std::uint8_t kNoRegister = 0xff;
  static constexpr std::size_t kNowhere = ~std::size_t{0} / 2;

  static bool is_one_byte(const Instruction& i) noexcept { return i.map == OpcodeMap::kOneByte; }
  static bool is_call(const Instruction& i) noexcept { return is_one_byte(i) && i.opcode == 0xe8; }
  static bool is_pop(const Instruction& i) noexcept {
    return is_one_byte(i) && i.opcode >= 0x58 && i.opcode <= 0x5f && !i.odd;
  }
  static bool is_unconditional(const Instruction& i) noexcept {
    return is_one_byte(i) && (i.opcode == 0xe9 || i.opcode == 0xeb);
  }
  static bool is_jump(const Instruction& i) noexcept {
    return is_unconditional(i) ||
           (is_one_byte(i)
                ? (i.opcode >= 0x70 && i.opcode <= 0x7f) || (i.opcode >= 0xe0 && i.opcode <= 0xe3)
                : i.map == OpcodeMap::k0f && i.opcode >= 0x80 && i.opcode <= 0x8f);
  }
  static bool is_indirect_jump(const Instruction& i) noexcept {
    return is_one_byte(i) && i.opcode == 0xff && ((i.reg & 7U) == 4 || (i.reg & 7U) == 5);
  }
  static bool is_return(const Instruction& i) noexcept {
    return is_one_byte(i) ? i.opcode == 0xc3 || i.opcode == 0xc2 || i.opcode == 0xcc
                          : i.map == OpcodeMap::k0f && i.opcode == 0x0b;
  }

  // mov (%esp), register; ret
  [[nodiscard]] bool is_thunk(std::int64_t target, std::uint8_t& number) const noexcept {
    constexpr std::size_t kSize = 4;
    if (target < 0 || static_cast<std::uint64_t>(target) + kSize > image_.size()) {
      return false;
    }
    const auto at = [&](std::size_t offset) {
      return std::to_integer<unsigned>(image_[static_cast<std::size_t>(target) + offset]);
    };
    number = static_cast<std::uint8_t>(at(1) >> 3);
    return at(0) == 0x8b && (at(1) & 0xc7U) == 0x04U && at(2) == 0x24 && at(3) == 0xc3;
  }

  void take_own_address(std::uint8_t number, std::size_t address) noexcept {
    now_.values.set(number, {CodeValue::Kind::kReturn, static_cast<std::uint32_t>(address)});
    fresh_ = number;
  }

  void call(const Instruction& i, std::size_t next) noexcept {
    const auto target = static_cast<std::int64_t>(next) + i.immediate;
    std::uint8_t number = 0;
    if (is_thunk(target, number)) {
      take_own_address(number, next);
    } else if (i.immediate == 0) {
      now_.values = {};  // nothing returns here but a pop
      returned_to_ = next;
    } else {
      now_.values.forget_call();
    }
  }

  void jump(std::size_t next, std::int64_t target) noexcept {
    if (!now_.reached) {
      return;
    }
    if (target < static_cast<std::int64_t>(begin_) || target >= static_cast<std::int64_t>(end_)) {
      less_ |= anywhere_.meet({true, {}});
      return;
    }
    const auto at = static_cast<std::size_t>(target);
    for (std::size_t i = 0; i < label_count_; ++i) {
      if (labels_[i].at == at) {
        less_ |= labels_[i].flow.meet(now_) && at < next;
        return;
      }
    }
    if (lost_ || label_count_ == kLabels) {
      lost_ = true;
      return;
    }
    labels_[label_count_++] = {at, now_};
    marks_[(at - begin_) / 32] |= std::uint32_t{1} << ((at - begin_) % 32);
    less_ |= at < next;
  }

  [[nodiscard]] bool is_marked(std::size_t at) const noexcept {
    return !lost_ && (marks_[(at - begin_) / 32] >> ((at - begin_) % 32) & 1U) != 0;
  }

  static constexpr CodeValues kUnknown{};

  std::span<const std::byte> image_;
  std::size_t begin_;
  std::size_t end_;
  bool lost_;
  bool less_ = false;  // something was learnt too late for this pass
  int passes_ = 0;
  std::size_t returned_to_ = kNowhere;  // by a call to here, which pushes this address
  std::uint8_t fresh_ = kNoRegister;
  Flow now_;
  Flow anywhere_;
  std::size_t label_count_ = 0;
  std::array<std::uint32_t, kLongest / 32> marks_{};
  std::array<Label, kLabels> labels_;
};

}  // namespace vvarclock::arch
