// See machine_code.h.
#include "test/support/machine_code.h"

#include <utility>

namespace vvarclock::test {

Code& Code::bytes(std::initializer_list<std::uint8_t> bytes) {
  raw_.insert(raw_.end(), bytes);
  return *this;
}

Code& Code::rip(std::initializer_list<std::uint8_t> opcode, std::int64_t target,
                std::initializer_list<std::uint8_t> immediate) {
  bytes(opcode);
  const std::size_t at = raw_.size();
  bytes({0, 0, 0, 0}).bytes(immediate);
  fixes_.push_back({at, raw_.size(), target, {}});
  return *this;
}

Code& Code::relative(std::uint8_t opcode, std::string function) {
  bytes({opcode, 0, 0, 0, 0});
  fixes_.push_back({raw_.size() - 4, raw_.size(), 0, std::move(function)});
  return *this;
}

Code& Code::call(std::string function) { return relative(0xe8, std::move(function)); }
Code& Code::jump(std::string function) { return relative(0xe9, std::move(function)); }

// add $(base - what stands at `from`), reg: the short form where there is one, as assemblers
// choose.
Code& Code::add_distance(std::uint8_t reg, std::size_t from, std::int64_t base) {
  if (reg == 0) {
    bytes({0x05});
  } else {
    bytes({0x81, static_cast<std::uint8_t>(0xc0 | reg)});
  }
  bytes({0, 0, 0, 0});
  fixes_.push_back({raw_.size() - 4, from, base, {}});
  return *this;
}

Code& Code::base(std::uint8_t reg, std::int64_t thunk, std::int64_t base) {
  rip({0xe8}, thunk);
  return add_distance(reg, raw_.size(), base);
}

Code& Code::base(std::uint8_t reg, std::string thunk, std::int64_t base) {
  call(std::move(thunk));
  return add_distance(reg, raw_.size(), base);
}

Code& Code::popped_base(std::uint8_t reg, std::int64_t base) {
  bytes({0xe8, 0, 0, 0, 0});
  const std::size_t here = raw_.size();
  return bytes({static_cast<std::uint8_t>(0x58 | reg)}).add_distance(reg, here, base);
}

Code& Code::imm32(std::initializer_list<std::uint8_t> opcode, std::uint32_t value) {
  bytes(opcode);
  for (int shift = 0; shift < 32; shift += 8) {
    raw_.push_back(static_cast<std::uint8_t>(value >> shift));
  }
  return *this;
}

}  // namespace vvarclock::test
