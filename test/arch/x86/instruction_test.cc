// Guards against: an instruction taken for longer or shorter than it is, so that everything after
// it is read wrongly; a read past the bytes that are there.
//
// Reference: encodings put together by hand from the Intel SDM, volume 2. Each line says what it is
// in AT&T syntax.
#include "arch/x86/instruction.h"

#include <initializer_list>
#include <vector>

#include "test/support/catch.h"
#include "test/support/guarded_bytes.h"
#include "test/support/machine_code.h"
#include "test/support/random.h"

namespace vvarclock::arch {
namespace {

using test::as_bytes;

struct Sample {
  const char* text;
  std::vector<std::byte> code;
};

std::vector<Sample> samples() {
  return {
      {"ret", as_bytes({0xc3})},
      {"push %rbp", as_bytes({0x55})},
      {"push %r14", as_bytes({0x41, 0x56})},
      {"nop", as_bytes({0x90})},
      {"pause", as_bytes({0xf3, 0x90})},
      {"leave", as_bytes({0xc9})},
      {"int3", as_bytes({0xcc})},
      {"cltq", as_bytes({0x48, 0x98})},
      {"syscall", as_bytes({0x0f, 0x05})},
      {"rdtsc", as_bytes({0x0f, 0x31})},
      {"rdtscp", as_bytes({0x0f, 0x01, 0xf9})},
      {"lfence", as_bytes({0x0f, 0xae, 0xe8})},
      {"ud2", as_bytes({0x0f, 0x0b})},
      {"endbr64", as_bytes({0xf3, 0x0f, 0x1e, 0xfa})},
      {"nopw 0x0(%rax,%rax,1)", as_bytes({0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00})},
      {"nopw %cs:0x0(%rax,%rax,1)", as_bytes({0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0})},
      {"mov (%rdi),%eax", as_bytes({0x8b, 0x07})},
      {"mov 0x4(%r10),%eax", as_bytes({0x41, 0x8b, 0x42, 0x04})},
      {"mov 0x910(%rax),%edx", as_bytes({0x8b, 0x90, 0x10, 0x09, 0, 0})},
      {"mov (%rsp),%rsi", as_bytes({0x48, 0x8b, 0x34, 0x24})},
      {"mov 0x30(%r9,%rax,1),%rbx", as_bytes({0x49, 0x8b, 0x5c, 0x01, 0x30})},
      {"mov 0x10(,%rax,8),%rcx", as_bytes({0x48, 0x8b, 0x0c, 0xc5, 0x10, 0, 0, 0})},
      {"mov (%r13),%eax", as_bytes({0x41, 0x8b, 0x45, 0x00})},
      {"mov (%r12),%ebx", as_bytes({0x41, 0x8b, 0x1c, 0x24})},
      {"mov 0x0(%rip),%edx", as_bytes({0x8b, 0x15, 0, 0, 0, 0})},
      {"lea 0x0(%rip),%r11", as_bytes({0x4c, 0x8d, 0x1d, 0, 0, 0, 0})},
      {"testb $0x1,0x0(%rip)", as_bytes({0xf6, 0x05, 0, 0, 0, 0, 0x01})},
      {"cmpl $0x7fffffff,0x0(%rip)", as_bytes({0x81, 0x3d, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f})},
      {"cmpw $0x1234,0x0(%rip)", as_bytes({0x66, 0x81, 0x3d, 0, 0, 0, 0, 0x34, 0x12})},
      {"movsbl 0x0(%rip),%edx", as_bytes({0x0f, 0xbe, 0x15, 0, 0, 0, 0})},
      {"mov $0xe4,%eax", as_bytes({0xb8, 0xe4, 0, 0, 0})},
      {"mov $0x1,%ax", as_bytes({0x66, 0xb8, 1, 0})},
      {"movabs $0x1,%rax", as_bytes({0x48, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0})},
      {"mov $-1,%rax", as_bytes({0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff})},
      {"mov $0x7,%al", as_bytes({0xb0, 0x07})},
      {"movb $0x1,(%rdi)", as_bytes({0xc6, 0x07, 0x01})},
      {"add $0xe8,%r10", as_bytes({0x49, 0x81, 0xc2, 0xe8, 0, 0, 0})},
      {"cmp $0x3b9ac9ff,%rax", as_bytes({0x48, 0x3d, 0xff, 0xc9, 0x9a, 0x3b})},
      {"cmp $0x17,%edi", as_bytes({0x83, 0xff, 0x17})},
      {"test $0x60,%al", as_bytes({0xa8, 0x60})},
      {"test $0x893,%eax", as_bytes({0xa9, 0x93, 0x08, 0, 0})},
      {"test $0x893,%edx", as_bytes({0xf7, 0xc2, 0x93, 0x08, 0, 0})},
      {"neg %ecx", as_bytes({0xf7, 0xd9})},
      {"mul %rdx", as_bytes({0x48, 0xf7, 0xe2})},
      {"not %al", as_bytes({0xf6, 0xd0})},
      {"imul $0x10624dd3,%rax,%rax", as_bytes({0x48, 0x69, 0xc0, 0xd3, 0x4d, 0x62, 0x10})},
      {"imul $0x18,%rax,%rax", as_bytes({0x48, 0x6b, 0xc0, 0x18})},
      {"imul %rdx,%rax", as_bytes({0x48, 0x0f, 0xaf, 0xc2})},
      {"shrd $0x20,%rdx,%rax", as_bytes({0x48, 0x0f, 0xac, 0xd0, 0x20})},
      {"shrd %cl,%rdx,%rax", as_bytes({0x48, 0x0f, 0xad, 0xd0})},
      {"shl $0x4,%r8", as_bytes({0x49, 0xc1, 0xe0, 0x04})},
      {"shr %cl,%rax", as_bytes({0x48, 0xd3, 0xe8})},
      {"btr $0x3f,%rdx", as_bytes({0x48, 0x0f, 0xba, 0xf2, 0x3f})},
      {"bt %rax,%rdx", as_bytes({0x48, 0x0f, 0xa3, 0xc2})},
      {"cmovs %rdx,%rax", as_bytes({0x48, 0x0f, 0x48, 0xc2})},
      {"sete %al", as_bytes({0x0f, 0x94, 0xc0})},
      {"movbe (%rdi),%eax", as_bytes({0x0f, 0x38, 0xf0, 0x07})},
      {"palignr $0x8,%xmm1,%xmm0", as_bytes({0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08})},
      {"movaps 0x0(%rip),%xmm5", as_bytes({0x0f, 0x28, 0x2d, 0, 0, 0, 0})},
      {"pshufd $0x39,%xmm1,%xmm1", as_bytes({0x66, 0x0f, 0x70, 0xc9, 0x39})},
      {"lock incl (%rdi)", as_bytes({0xf0, 0xff, 0x07})},
      {"jmp *%rax", as_bytes({0xff, 0xe0})},
      {"jmp .+2", as_bytes({0xeb, 0x00})},
      {"jmp .+5", as_bytes({0xe9, 0, 0, 0, 0})},
      {"call .+5", as_bytes({0xe8, 0, 0, 0, 0})},
      {"ja .+2", as_bytes({0x77, 0x00})},
      {"ja .+6", as_bytes({0x0f, 0x87, 0, 0, 0, 0})},
      {"lsl %eax,%eax", as_bytes({0x0f, 0x03, 0xc0})},
      {"bswap %rax", as_bytes({0x48, 0x0f, 0xc8})},
      {"ret $0x10", as_bytes({0xc2, 0x10, 0x00})},
      {"enter $0x10,$0x0", as_bytes({0xc8, 0x10, 0x00, 0x00})},
      {"rep movsb", as_bytes({0xf3, 0xa4})},
      {"repne scasb", as_bytes({0xf2, 0xae})},
      {"notrack jmp *%rax", as_bytes({0x3e, 0xff, 0xe0})},
      {"data16 call .+6", as_bytes({0x66, 0xe8, 0, 0, 0, 0})},
      {"movslq %edi,%rax", as_bytes({0x48, 0x63, 0xc7})},
      {"push $0x893", as_bytes({0x68, 0x93, 0x08, 0, 0})},
      {"lret $0x10", as_bytes({0xca, 0x10, 0x00})},
      {"jrcxz .+2", as_bytes({0xe3, 0x00})},
      {"out %al,$0x80", as_bytes({0xe6, 0x80})},
      {"shld $0x20,%rax,%rdx", as_bytes({0x48, 0x0f, 0xa4, 0xc2, 0x20})},
      {"test $0x1,%eax, the other encoding", as_bytes({0xf7, 0xc8, 1, 0, 0, 0})},
  };
}

TEST_CASE("an instruction is as long as its encoding") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.text);
    // What follows must not matter.
    for (const int filler : {0x00, 0x90, 0xcc, 0xff}) {
      std::vector<std::byte> code = sample.code;
      code.resize(code.size() + kLongestInstruction, static_cast<std::byte>(filler));
      CHECK(decode(code).length == sample.code.size());
    }
  }
}

TEST_CASE("an instruction that is cut off is not understood, and nothing behind it is read") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.text);
    for (std::size_t size = 0; size <= sample.code.size(); ++size) {
      const test::GuardedBytes cut(std::span(sample.code).first(size));
      CHECK(decode(cut.get()).length == (size == sample.code.size() ? size : 0));
    }
  }
}

TEST_CASE("an instruction has at most 15 bytes, prefixes and all") {
  std::vector<std::byte> code(14, std::byte{0x2e});
  code.push_back(std::byte{0x90});
  CHECK(decode(code).length == 15);
  code.insert(code.begin(), std::byte{0x2e});
  CHECK(decode(code).length == 0);
}

TEST_CASE("opcodes of other modes and of the vector extensions are not understood") {
  for (const auto& code : {as_bytes({0x06}),       as_bytes({0x0e}),       as_bytes({0x16}),
                           as_bytes({0x1f}),       as_bytes({0x27}),       as_bytes({0x37}),
                           as_bytes({0x60}),       as_bytes({0x62}),       as_bytes({0x82}),
                           as_bytes({0x9a}),       as_bytes({0xa1}),       as_bytes({0xc4}),
                           as_bytes({0xc5}),       as_bytes({0xce}),       as_bytes({0xd4}),
                           as_bytes({0xd6}),       as_bytes({0xea}),       as_bytes({0x0f, 0x04}),
                           as_bytes({0x0f, 0x0a}), as_bytes({0x0f, 0x0f}), as_bytes({0x0f, 0x24}),
                           as_bytes({0x0f, 0xa6})}) {
    std::vector<std::byte> padded = code;
    padded.resize(32);
    CAPTURE(std::to_integer<int>(code[0]));
    CHECK(decode(padded).length == 0);
  }
}

TEST_CASE("operands come out with their signs and extended registers") {
  const Instruction lea =
      decode(as_bytes({0x4d, 0x8d, 0x8d, 0x18, 0xff, 0xff, 0xff}));  // lea -0xe8(%r13),%r9
  CHECK(lea.wide);
  CHECK_FALSE(lea.rip);
  CHECK(lea.mod == 2);
  CHECK(lea.reg == 9);
  CHECK(lea.base == 13);
  CHECK(lea.displacement == -0xe8);

  const Instruction store =
      decode(as_bytes({0xc7, 0x05, 0xf0, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff}));
  CHECK(store.rip);
  CHECK(store.displacement == -16);
  CHECK(store.immediate == -2);

  const Instruction stack =
      decode(as_bytes({0x48, 0x8d, 0x84, 0x24, 0xe8, 0, 0, 0}));  // lea 0xe8(%rsp),%rax
  CHECK(stack.base == kRegisterSp);
  CHECK(stack.rm == kRegisterSp);

  const Instruction indexed =
      decode(as_bytes({0x4a, 0x8d, 0x84, 0x25, 0xe8, 0, 0, 0}));  // lea 0xe8(%rbp,%r12,1),%rax
  CHECK(indexed.base == kRegisterBp);
  CHECK(decode(as_bytes({0x83, 0xf8, 0xff})).immediate == -1);           // cmp $-1,%eax
  CHECK(decode(as_bytes({0x67, 0x8b, 0x05, 0, 0, 0, 0})).odd);           // mov 0x0(%eip),%eax
  CHECK(decode(as_bytes({0x64, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0})).odd);  // mov %fs:0x28,%eax
}

TEST_CASE("random bytes never lead past their end") {
  test::Random random;
  CAPTURE(random.seed());
  int understood = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> code(random.index_below(20));
    for (std::byte& byte : code) {
      byte = static_cast<std::byte>(random.below(256));
    }
    const test::GuardedBytes guarded(code);
    const Instruction instruction = decode(guarded.get());
    if (instruction.length > code.size() || instruction.length > kLongestInstruction) {
      FAIL("length " << int{instruction.length} << " of " << code.size());
    }
    understood += instruction.length != 0 ? 1 : 0;
  }
  CHECK(understood > 100);
}

}  // namespace
}  // namespace vvarclock::arch
