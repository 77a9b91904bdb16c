// Guards against: a register or a stack slot that an instruction changes and that is still taken
// for what it was.
//
// Reference: the Intel SDM, volume 2. Bits: 0 eax, 1 ecx, 2 edx, 3 ebx, 6 esi, 7 edi.
#include "arch/x86/register_effects.h"

#include <initializer_list>
#include <vector>

#include "test/support/catch.h"

namespace vvarclock::arch {
namespace {

Effects effects(std::initializer_list<int> code) {
  std::vector<std::byte> bytes;
  for (const int byte : code) {
    bytes.push_back(static_cast<std::byte>(byte));
  }
  bytes.resize(bytes.size() + kLongestInstruction);
  const Instruction i = decode(bytes, CodeWidth::k32);
  REQUIRE(i.length == code.size());
  return effects_of(i);
}

int registers(std::initializer_list<int> code) {
  const Effects found = effects(code);
  CHECK_FALSE(found.everything);
  CHECK_FALSE(found.memory);
  return found.registers;
}

TEST_CASE("the registers that an instruction writes") {
  CHECK(registers({0x01, 0xc3}) == 0x08);              // add %eax,%ebx
  CHECK(registers({0x03, 0xc3}) == 0x01);              // add %ebx,%eax
  CHECK(registers({0x00, 0xe3}) == 0x08);              // add %ah,%bl
  CHECK(registers({0x02, 0xe3}) == 0x01);              // add %bl,%ah
  CHECK(registers({0x05, 0, 0, 0, 0}) == 0x01);        // add $0,%eax
  CHECK(registers({0x39, 0xc3}) == 0);                 // cmp %eax,%ebx
  CHECK(registers({0x3c, 0x01}) == 0);                 // cmp $1,%al
  CHECK(registers({0x43}) == 0x08);                    // inc %ebx
  CHECK(registers({0x53}) == 0);                       // push %ebx
  CHECK(registers({0x5b}) == 0x08);                    // pop %ebx
  CHECK(registers({0x6b, 0xc3, 0x04}) == 0x01);        // imul $4,%ebx,%eax
  CHECK(registers({0x81, 0xc3, 0, 0, 0, 0}) == 0x08);  // add $0,%ebx
  CHECK(registers({0x81, 0xfb, 0, 0, 0, 0}) == 0);     // cmp $0,%ebx
  CHECK(registers({0x83, 0xe6, 0x01}) == 0x40);        // and $1,%esi
  CHECK(registers({0x80, 0xc7, 0x01}) == 0x08);        // add $1,%bh
  CHECK(registers({0x85, 0xc3}) == 0);                 // test %eax,%ebx
  CHECK(registers({0x87, 0xc3}) == 0x09);              // xchg %eax,%ebx
  CHECK(registers({0x89, 0xc3}) == 0x08);              // mov %eax,%ebx
  CHECK(registers({0x8b, 0xc3}) == 0x01);              // mov %ebx,%eax
  CHECK(registers({0x8a, 0x3b}) == 0x08);              // mov (%ebx),%bh
  CHECK(registers({0x8d, 0x43, 0x01}) == 0x01);        // lea 1(%ebx),%eax
  CHECK(registers({0x93}) == 0x09);                    // xchg %eax,%ebx
  CHECK(registers({0x99}) == 0x04);                    // cltd
  CHECK(registers({0xb7, 0x01}) == 0x08);              // mov $1,%bh
  CHECK(registers({0xbf, 0, 0, 0, 0}) == 0x80);        // mov $0,%edi
  CHECK(registers({0xc1, 0xe3, 0x04}) == 0x08);        // shl $4,%ebx
  CHECK(registers({0xd3, 0xeb}) == 0x08);              // shr %cl,%ebx
  CHECK(registers({0xf7, 0xc3, 0, 0, 0, 0}) == 0);     // test $0,%ebx
  CHECK(registers({0xf7, 0xdb}) == 0x08);              // neg %ebx
  CHECK(registers({0xf7, 0xe3}) == 0x05);              // mul %ebx
  CHECK(registers({0xff, 0xc3}) == 0x08);              // inc %ebx
  CHECK(registers({0xff, 0xd3}) == 0x07);              // call *%ebx
  CHECK(registers({0xff, 0xf3}) == 0);                 // push %ebx
  CHECK(registers({0xe8, 0, 0, 0, 0}) == 0x07);        // call
  CHECK(registers({0xcd, 0x80}) == 0x07);              // int $0x80
  CHECK(registers({0x0f, 0x31}) == 0x05);              // rdtsc
  CHECK(registers({0x0f, 0x01, 0xf9}) == 0x07);        // rdtscp
  CHECK(registers({0x0f, 0x44, 0xc3}) == 0x01);        // cmove %ebx,%eax
  CHECK(registers({0x0f, 0x92, 0xc7}) == 0x08);        // setb %bh
  CHECK(registers({0x0f, 0xad, 0xc3}) == 0x08);        // shrd %cl,%eax,%ebx
  CHECK(registers({0x0f, 0xaf, 0xc3}) == 0x01);        // imul %ebx,%eax
  CHECK(registers({0x0f, 0xb6, 0xc3}) == 0x01);        // movzbl %bl,%eax
  CHECK(registers({0x0f, 0xc1, 0xc3}) == 0x09);        // xadd %eax,%ebx
  CHECK(registers({0x0f, 0xcb}) == 0x08);              // bswap %ebx
}

TEST_CASE("the instructions that write their memory operand") {
  CHECK(effects({0x89, 0x45, 0xec}).memory);              // mov %eax,-0x14(%ebp)
  CHECK(effects({0x01, 0x45, 0xec}).memory);              // add %eax,-0x14(%ebp)
  CHECK(effects({0xc7, 0x45, 0xec, 0, 0, 0, 0}).memory);  // movl $0,-0x14(%ebp)
  CHECK(effects({0x83, 0x55, 0xec, 0}).memory);           // adcl $0,-0x14(%ebp)
  CHECK(effects({0x87, 0x45, 0xec}).memory);              // xchg %eax,-0x14(%ebp)
  CHECK(effects({0x0f, 0x92, 0x45, 0xec}).memory);        // setb -0x14(%ebp)
  CHECK(effects({0x0f, 0xb1, 0x4d, 0xec}).memory);        // cmpxchg %ecx,-0x14(%ebp)
  CHECK(effects({0x8f, 0x45, 0xec}).memory);              // pop -0x14(%ebp)
  CHECK_FALSE(effects({0x8b, 0x45, 0xec}).memory);        // mov -0x14(%ebp),%eax
  CHECK_FALSE(effects({0x03, 0x45, 0xec}).memory);        // add -0x14(%ebp),%eax
  CHECK_FALSE(effects({0x39, 0x45, 0xec}).memory);        // cmp %eax,-0x14(%ebp)
  CHECK_FALSE(effects({0x83, 0x7d, 0xec, 0}).memory);     // cmpl $0,-0x14(%ebp)
  CHECK_FALSE(effects({0xf7, 0x65, 0xec}).memory);        // mull -0x14(%ebp)
  CHECK_FALSE(effects({0xff, 0x75, 0xec}).memory);        // push -0x14(%ebp)
}

TEST_CASE("of what is not in the tables nothing is said") {
  CHECK(effects({0x61}).everything);                    // popa
  CHECK(effects({0xa4}).everything);                    // movsb
  CHECK(effects({0xc9}).everything);                    // leave
  CHECK(effects({0xdd, 0x55, 0xec}).everything);        // fstl -0x14(%ebp)
  CHECK(effects({0x0f, 0x11, 0x45, 0xec}).everything);  // movups %xmm0,-0x14(%ebp)
  CHECK(effects({0x0f, 0xa2}).everything);              // cpuid
  CHECK(effects({0x0f, 0xae, 0x45, 0xec}).everything);  // fxsave -0x14(%ebp)
  CHECK(effects({0x0f, 0xc7, 0x4d, 0xec}).everything);  // cmpxchg8b -0x14(%ebp)
  CHECK(effects({0x0f, 0x38, 0xf0, 0xc3}).everything);  // crc32 %bl,%eax
}

}  // namespace
}  // namespace vvarclock::arch
