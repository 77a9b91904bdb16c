// Machine code for test images, with holes for addresses that are filled when the image is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace vvarclock::test {

// Code as it is written in a disassembly.
inline std::vector<std::byte> as_bytes(std::initializer_list<int> code) {
  std::vector<std::byte> bytes;
  for (const int byte : code) {
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

class Code {
 public:
  Code& bytes(std::initializer_list<std::uint8_t> bytes);
  // `opcode` up to and including a ModRM byte that says RIP-relative (mod 00, rm 101); then the
  // 32-bit distance to `target` (from the start of the image); then `immediate`, if the instruction
  // has one.
  Code& rip(std::initializer_list<std::uint8_t> opcode, std::int64_t target,
            std::initializer_list<std::uint8_t> immediate = {});
  // call / jmp rel32 to another function of the image, by name.
  Code& call(std::string function);
  Code& jump(std::string function);
  // 32-bit code: call a thunk (a place of the image, or a function), which gives the address behind
  // the call in `reg`; then add what is missing to `base`, an offset from the start of the image.
  Code& base(std::uint8_t reg, std::int64_t thunk, std::int64_t base);
  Code& base(std::uint8_t reg, std::string thunk, std::int64_t base);
  // The same by a call to what follows it, and a pop.
  Code& popped_base(std::uint8_t reg, std::int64_t base);
  // `opcode`, then a 32-bit constant.
  Code& imm32(std::initializer_list<std::uint8_t> opcode, std::uint32_t value);
  Code& ret() { return bytes({0xc3}); }

  struct Fix {
    std::size_t at;        // of the four address bytes
    std::size_t end;       // of the instruction: the distance counts from here
    std::int64_t target;   // from the start of the image
    std::string function;  // or a function
  };
  [[nodiscard]] const std::vector<std::uint8_t>& raw() const { return raw_; }
  [[nodiscard]] const std::vector<Fix>& fixes() const { return fixes_; }

 private:
  Code& add_distance(std::uint8_t reg, std::size_t from, std::int64_t base);
  Code& relative(std::uint8_t opcode, std::string function);
  std::vector<std::uint8_t> raw_;
  std::vector<Fix> fixes_;
};

}  // namespace vvarclock::test
