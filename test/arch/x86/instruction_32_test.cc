// Guards against: an instruction of 32-bit code read by the rules of 64-bit code, or the reverse.
//
// Reference: encodings put together by hand from the Intel SDM, volume 2. Each line says what it is
// in AT&T syntax. instruction_test.cc has what both kinds of code share.
#include <initializer_list>
#include <vector>

#include "arch/x86/instruction.h"
#include "test/support/catch.h"
#include "test/support/guarded_bytes.h"
#include "test/support/machine_code.h"

namespace vvarclock::arch {
namespace {

using test::as_bytes;

Instruction decode_32(const std::vector<std::byte>& code) { return decode(code, CodeWidth::k32); }

struct Sample {
  const char* text;
  std::vector<std::byte> code;
};

std::vector<Sample> samples() {
  return {
      {"push %es", as_bytes({0x06})},
      {"pop %ds", as_bytes({0x1f})},
      {"daa", as_bytes({0x27})},
      {"inc %eax", as_bytes({0x40})},
      {"dec %edi", as_bytes({0x4f})},
      {"pusha", as_bytes({0x60})},
      {"bound %eax,(%ecx)", as_bytes({0x62, 0x01})},
      {"arpl %ax,%cx", as_bytes({0x63, 0xc1})},
      {"addb $0x1,%al, the other encoding", as_bytes({0x82, 0xc0, 0x01})},
      {"mov 0x12345678,%eax", as_bytes({0xa1, 0x78, 0x56, 0x34, 0x12})},
      {"mov %ax,0x12345678", as_bytes({0x66, 0xa3, 0x78, 0x56, 0x34, 0x12})},
      {"les (%ecx),%eax", as_bytes({0xc4, 0x01})},
      {"lds 0x4(%esp),%eax", as_bytes({0xc5, 0x44, 0x24, 0x04})},
      {"into", as_bytes({0xce})},
      {"aam", as_bytes({0xd4, 0x0a})},
      {"mov $0x1,%eax", as_bytes({0xb8, 1, 0, 0, 0})},
      {"mov 0x12345678,%edx", as_bytes({0x8b, 0x15, 0x78, 0x56, 0x34, 0x12})},
      {"lea 0x0(%esi,%eiz,1),%esi", as_bytes({0x8d, 0xb4, 0x26, 0, 0, 0, 0})},
      {"mov (%esp),%ebx", as_bytes({0x8b, 0x1c, 0x24})},
      {"call .+5", as_bytes({0xe8, 0, 0, 0, 0})},
      {"jne .+6", as_bytes({0x0f, 0x85, 0, 0, 0, 0})},
      {"int $0x80", as_bytes({0xcd, 0x80})},
      {"endbr32", as_bytes({0xf3, 0x0f, 0x1e, 0xfb})},
  };
}

TEST_CASE("an instruction of 32-bit code is as long as its encoding") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.text);
    for (const int filler : {0x00, 0x90, 0xcc, 0xff}) {
      std::vector<std::byte> code = sample.code;
      code.resize(code.size() + kLongestInstruction, static_cast<std::byte>(filler));
      CHECK(decode_32(code).length == sample.code.size());
    }
    for (std::size_t size = 0; size < sample.code.size(); ++size) {
      const test::GuardedBytes cut(std::span(sample.code).first(size));
      CHECK(decode(cut.get(), CodeWidth::k32).length == 0);
    }
  }
}

TEST_CASE("what 32-bit code has no use for is not understood") {
  for (const auto& code :
       {as_bytes({0xc5, 0xf8, 0x77}), as_bytes({0xc4, 0xe2, 0x7b, 0xf7, 0xc0}),  // VEX
        as_bytes({0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1}),                          // EVEX
        as_bytes({0x9a, 0, 0, 0, 0, 0, 0}), as_bytes({0xea, 0, 0, 0, 0, 0, 0}),  // far
        as_bytes({0x67, 0x8b, 0x05, 0, 0, 0, 0}),                                // 16-bit address
        as_bytes({0x67, 0xa1, 0, 0}), as_bytes({0x66, 0xe8, 0, 0, 0, 0}),
        as_bytes({0x66, 0x0f, 0x85, 0, 0, 0, 0}), as_bytes({0xd6})}) {
    std::vector<std::byte> padded = code;
    padded.resize(32);
    CAPTURE(std::to_integer<int>(code[0]), std::to_integer<int>(code[1 % code.size()]));
    CHECK(decode_32(padded).length == 0);
  }
}

TEST_CASE("the same bytes are something else in 64-bit code") {
  // dec %eax; mov %eax,%ebx - or mov %rax,%rbx
  const auto two = as_bytes({0x48, 0x89, 0xc3});
  CHECK(decode_32(two).length == 1);
  CHECK(decode(two).length == 3);
  CHECK(decode(two).wide);
  // An address of its own, or relative to RIP.
  const auto absolute = as_bytes({0x8b, 0x15, 0, 0xbc, 0xff, 0xff});
  CHECK(decode_32(absolute).fixed);
  CHECK_FALSE(decode_32(absolute).rip);
  CHECK_FALSE(decode_32(absolute).has_base);
  CHECK(decode_32(absolute).displacement == -0x4400);
  CHECK(decode(absolute).rip);
  CHECK_FALSE(decode(absolute).fixed);
}

TEST_CASE("base, index and scale of an operand") {
  const Instruction both = decode_32(as_bytes({0x8b, 0x44, 0x3b, 0x04}));  // 0x4(%ebx,%edi,1)
  CHECK(both.has_base);
  CHECK(both.base == 3);
  CHECK(both.index == 7);
  CHECK(both.scale == 1);
  CHECK(both.displacement == 4);
  CHECK_FALSE(both.fixed);

  const Instruction index = decode_32(as_bytes({0x8b, 0x04, 0x8d, 0, 0x10, 0, 0}));  // (,%ecx,4)
  CHECK_FALSE(index.has_base);
  CHECK(index.index == 1);
  CHECK(index.scale == 4);
  CHECK_FALSE(index.fixed);

  const Instruction base = decode_32(as_bytes({0x8b, 0x83, 0, 0x10, 0, 0}));  // 0x1000(%ebx)
  CHECK(base.has_base);
  CHECK(base.base == 3);
  CHECK(base.scale == 0);

  const Instruction neither = decode_32(as_bytes({0x8b, 0x04, 0x25, 0, 0x10, 0, 0}));
  CHECK(neither.fixed);
  CHECK_FALSE(neither.has_base);
  CHECK(decode_32(as_bytes({0x8b, 0x45, 0x08})).has_base);        // 0x8(%ebp)
  CHECK(decode(as_bytes({0x4a, 0x8b, 0x04, 0x20})).index == 12);  // (%rax,%r12,1)
  CHECK(decode(as_bytes({0x4a, 0x8b, 0x04, 0x20})).scale == 1);
}

}  // namespace
}  // namespace vvarclock::arch
