// Guards against: a reference of 32-bit code seen where there is none, above all because a register
// is taken for what it no longer holds; one that is there and not seen.
//
// Reference: code put together by hand (instruction_32_test.cc and register_effects_test.cc show
// the encodings).
#include <cstring>
#include <utility>
#include <vector>

#include "arch/x86/code_refs.h"
#include "test/support/catch.h"
#include "test/support/guarded_bytes.h"
#include "test/support/machine_code.h"
#include "test/support/random.h"

namespace vvarclock::arch {
namespace {

using test::Code;
using Kind = CodeRefKind;
using Refs = std::vector<std::pair<Kind, std::int64_t>>;

constexpr std::uint8_t kEax = 0;
constexpr std::uint8_t kEcx = 1;
constexpr std::uint8_t kEbx = 3;
constexpr std::size_t kThunks = 0x10;  // mov (%esp), register; ret: one for each register
constexpr std::size_t kStart = 0x40;
constexpr std::int64_t kGot = 0x24;  // what the base register points to

std::vector<std::byte> image_of(const Code& code) {
  std::vector<std::byte> image(kStart);
  for (std::size_t number = 0; number < 8; ++number) {
    const std::uint8_t thunk[] = {0x8b, static_cast<std::uint8_t>(number << 3 | 4), 0x24, 0xc3};
    std::memcpy(image.data() + kThunks + 4 * number, thunk, sizeof thunk);
  }
  for (const std::uint8_t byte : code.raw()) {
    image.push_back(std::byte{byte});
  }
  image.push_back(std::byte{0x90});  // so that a branch to the end of the code stays inside
  for (const Code::Fix& fix : code.fixes()) {
    const auto distance =
        static_cast<std::int32_t>(fix.target - static_cast<std::int64_t>(kStart + fix.end));
    std::memcpy(image.data() + kStart + fix.at, &distance, sizeof distance);
  }
  return image;
}

Refs refs_of(const Code& code) {
  const std::vector<std::byte> image = image_of(code);
  const test::GuardedBytes guarded(image);
  Refs refs;
  visit_code_refs(
      guarded.get(), kStart, image.size(), CodeExtent::kWholeStretch,
      [&](const CodeRef& ref) { refs.emplace_back(ref.kind, ref.value); }, CodeWidth::k32);
  return refs;
}

// call thunk; add $constant, register
Code based(std::uint8_t reg) { return Code().base(reg, kThunks + 4U * reg, kGot); }

// An operand at `target`, counted from the base register.
std::uint32_t from_base(std::int64_t target) { return static_cast<std::uint32_t>(target - kGot); }
Code& read(Code& code, std::uint8_t base, std::int64_t target) {  // mov target(base), %edx
  return code.imm32({0x8b, static_cast<std::uint8_t>(0x90 | base)}, from_base(target));
}
Code& read(Code&& code, std::uint8_t base, std::int64_t target) { return read(code, base, target); }

const Refs kSeen{{Kind::kMemory, -0x3f80}};

TEST_CASE("32-bit: operands that count from the base register") {
  CHECK(refs_of(read(based(kEbx), kEbx, -0x3f80)) == kSeen);
  CHECK(refs_of(read(based(kEax), kEax, -0x3f80)) == kSeen);  // the short form of add
  CHECK(refs_of(based(kEbx).imm32({0x8d, 0xbb}, from_base(-0x6000))) ==
        Refs{{Kind::kAddress, -0x6000}});  // lea, %edi
  CHECK(refs_of(
            based(kEbx).imm32({0x81, 0xbb}, from_base(-0x3f7c)).bytes({0xff, 0xff, 0xff, 0x7f})) ==
        Refs{{Kind::kMemory, -0x3f7c}});                       // cmpl $0x7fffffff
  CHECK(refs_of(read(Code(), kEbx, -0x3f80)) == Refs{});       // from what?
  CHECK(refs_of(read(based(kEcx), kEbx, -0x3f80)) == Refs{});  // another register
  CHECK(refs_of(based(kEbx).bytes({0x66}).imm32({0x8b, 0x93}, from_base(-0x3f80))) == Refs{});
}

TEST_CASE("32-bit: the base without a thunk") {
  // call .+5; pop %ebx; add $constant, %ebx
  CHECK(refs_of(read(Code().popped_base(kEbx, kGot), kEbx, -0x3f80)) == kSeen);
  // Without the add: the operand counts from the pop.
  const auto here = static_cast<std::int64_t>(kStart + 5);
  CHECK(refs_of(Code()
                    .bytes({0xe8, 0, 0, 0, 0, 0x5b})
                    .imm32({0x8b, 0x93}, static_cast<std::uint32_t>(-0x3f80 - here))) == kSeen);
  // What is popped later is something else.
  CHECK(refs_of(
            Code().bytes({0xe8, 0, 0, 0, 0, 0x90, 0x5b}).imm32({0x8b, 0x93}, from_base(-0x3f80))) ==
        Refs{});
}

TEST_CASE("32-bit: a constant and the base together") {
  // lea constant, %edi; mov 4(%edi,%ebx,1), %eax
  const Refs want{{Kind::kAddress, -0x3f80}, {Kind::kMemory, -0x3f7c}};
  CHECK(refs_of(
            based(kEbx).imm32({0x8d, 0x3d}, from_base(-0x3f80)).bytes({0x8b, 0x44, 0x1f, 0x04})) ==
        want);
  CHECK(refs_of(based(kEbx).imm32({0xbf}, from_base(-0x3f80)).bytes({0x8b, 0x44, 0x3b, 0x04})) ==
        want);
  CHECK(refs_of(based(kEbx)
                    .imm32({0x8d, 0x3d}, from_base(-0x3f80))
                    .bytes({0x01, 0xdf, 0x8b, 0x47, 0x04})) ==
        Refs{{Kind::kMemory, -0x3f7c}});  // add %ebx,%edi first
  CHECK(refs_of(Code().imm32({0x8d, 0x3d}, from_base(-0x3f80)).bytes({0x8b, 0x44, 0x1f, 0x04})) ==
        Refs{});
  CHECK(refs_of(based(kEbx).bytes({0x8b, 0x44, 0x1b, 0x04})) == Refs{});  // the base twice
  CHECK(refs_of(Code().imm32({0x8b, 0x15}, 0xff5ff080)) == Refs{{Kind::kFixed, -0xa00f80}});
}

TEST_CASE("32-bit: registers that follow from the base") {
  CHECK(refs_of(read(based(kEbx).bytes({0x89, 0xd8}), kEax, -0x3f80)) == kSeen);  // mov
  const Code data = based(kEbx).imm32({0x8d, 0xbb}, from_base(-0x6000));          // lea, %edi
  CHECK(refs_of(Code(data).bytes({0x8b, 0x47, 0x08})) ==
        Refs{{Kind::kAddress, -0x6000}, {Kind::kMemory, -0x5ff8}});
  CHECK(refs_of(Code(data).imm32({0x81, 0xc7}, 0xe8).bytes({0x8b, 0x47, 0x08})) ==
        Refs{{Kind::kAddress, -0x6000}, {Kind::kStep, 0xe8}, {Kind::kMemory, -0x5f10}});
  CHECK(refs_of(Code(data).bytes({0x83, 0xef, 0x10, 0x8b, 0x07})) ==
        Refs{{Kind::kAddress, -0x6000}, {Kind::kMemory, -0x6010}});
}

TEST_CASE("32-bit: the base on the stack frame") {
  const Code spilled = based(kEax).bytes({0x89, 0x45, 0xcc, 0x31, 0xc0});  // mov, -0x34(%ebp); xor
  const auto again = [&](std::initializer_list<std::uint8_t> between) {
    return refs_of(read(Code(spilled).bytes(between).bytes({0x8b, 0x5d, 0xcc}), kEbx, -0x3f80));
  };
  CHECK(again({}) == kSeen);
  CHECK(again({0x89, 0x4d, 0xd0}) == kSeen);         // the next slot
  CHECK(again({0x8b, 0x4d, 0xcc}) == kSeen);         // read
  CHECK(again({0x89, 0x0e}) == kSeen);               // through a pointer: never to a slot
  CHECK(again({0x89, 0x4d, 0xcc}) == Refs{});        // written
  CHECK(again({0x89, 0x4d, 0xcf}) == Refs{});        // its last byte
  CHECK(again({0x88, 0x4d, 0xcd}) == Refs{});        // one byte of it
  CHECK(again({0x01, 0x4d, 0xcc}) == Refs{});        // added to
  CHECK(again({0x89, 0x4c, 0x95, 0xcc}) == Refs{});  // with an index
  CHECK(again({0x89, 0x4c, 0x24, 0x08}) == Refs{});  // by way of the stack pointer
  CHECK(again({0xdd, 0x5d, 0xc8}) == Refs{});        // 8 bytes
  CHECK(again({0x5d}) == Refs{});                    // another frame
}

TEST_CASE("32-bit: what overwrites the base") {
  const auto after = [](std::initializer_list<std::uint8_t> between) {
    return refs_of(read(based(kEbx).bytes(between), kEbx, -0x3f80));
  };
  CHECK(after({0x31, 0xc0}) == kSeen);
  CHECK(after({0x53}) == kSeen);               // push
  CHECK(after({0x85, 0xdb}) == kSeen);         // test
  CHECK(after({0xff, 0xd0}) == kSeen);         // call *%eax keeps ebx
  CHECK(after({0x5b}) == Refs{});              // pop
  CHECK(after({0x31, 0xdb}) == Refs{});        // xor
  CHECK(after({0x89, 0xc3}) == Refs{});        // mov
  CHECK(after({0x8b, 0x1e}) == Refs{});        // mov from memory
  CHECK(after({0xb3, 0x00}) == Refs{});        // mov, %bl
  CHECK(after({0x43}) == Refs{});              // inc
  CHECK(after({0x0f, 0x44, 0xd8}) == Refs{});  // cmove
  CHECK(after({0x61}) == Refs{});              // popa
  CHECK(after({0xc3}) == Refs{});              // nothing leads here
  CHECK(refs_of(read(based(kEcx).bytes({0xff, 0xd0}), kEcx, -0x3f80)) == Refs{});
  CHECK(refs_of(read(based(kEcx).rip({0xe8}, 0x8), kEcx, -0x3f80)) == Refs{{Kind::kLeaves, 0x8}});
  CHECK(refs_of(read(based(kEbx).base(kEbx, kThunks + 4U * kEcx, kGot), kEbx, -0x3f80)) != kSeen);
}

TEST_CASE("32-bit: where ways meet, what all of them know is known") {
  const auto over = [](std::initializer_list<std::uint8_t> jump,
                       std::initializer_list<std::uint8_t> passed) {
    return refs_of(read(based(kEbx).bytes(jump).bytes(passed), kEbx, -0x3f80));
  };
  CHECK(over({0x74, 0x02}, {0x31, 0xc0}) == kSeen);   // je over xor %eax,%eax
  CHECK(over({0x74, 0x02}, {0x31, 0xdb}) == Refs{});  // je over xor %ebx,%ebx
  CHECK(over({0xeb, 0x02}, {0x31, 0xdb}) == kSeen);   // jmp over it
  CHECK(over({0xe3, 0x02}, {0x31, 0xdb}) == Refs{});  // jecxz
  CHECK(over({0xff, 0xe0}, {0x90}) == kSeen);         // jmp *%eax may lead there
  CHECK(over({0x74, 0x02, 0xff, 0xe0}, {0x31, 0xdb}) == Refs{});
  // Back to the read: with the base as it is, and without.
  const auto back = [](std::initializer_list<std::uint8_t> loop) {
    return refs_of(read(based(kEbx), kEbx, -0x3f80).bytes(loop));
  };
  CHECK(back({0x75, 0xf8}) == kSeen);
  CHECK(back({0x31, 0xdb, 0x75, 0xf6}) == Refs{});
  CHECK(back({0xeb, 0x02, 0x31, 0xdb, 0x75, 0xf4}) == kSeen);  // nothing leads to the xor
  CHECK(back({0x31, 0xdb, 0xff, 0xe0}) == Refs{});             // may lead anywhere
  // What one loop does to a register comes to the read through two others, a pass for each.
  CHECK(refs_of(read(based(kEbx).bytes({0x89, 0xde, 0x89, 0xdf}), kEbx, -0x3f80)
                    .bytes({0x89, 0xf3, 0x75, 0xf6})               // mov %esi,%ebx; jne to the read
                    .bytes({0x89, 0xfe, 0x75, 0xf8})               // mov %edi,%esi; jne one line up
                    .bytes({0x31, 0xff, 0x75, 0xf8})) == Refs{});  // xor %edi,%edi; jne one line up
  // Out of the stretch and back from there: anything may have happened to the register.
  CHECK(refs_of(read(based(kEbx).rip({0x0f, 0x84}, 0x8), kEbx, -0x3f80)) ==
        Refs{{Kind::kLeaves, 0x8}});
}

TEST_CASE("32-bit: steps, but none that make an address of the image") {
  CHECK(refs_of(Code().imm32({0x81, 0xc2}, 0xe8)) == Refs{{Kind::kStep, 0xe8}});
  CHECK(refs_of(Code().imm32({0x8d, 0x82}, 0U - 0xe8U)) == Refs{{Kind::kStep, 0xe8}});
  CHECK(refs_of(Code().imm32({0x2d}, 0xe8)) == Refs{{Kind::kStep, 0xe8}});
  CHECK(refs_of(Code().imm32({0x81, 0xec}, 0xe8)) == Refs{});  // sub, %esp
  CHECK(refs_of(based(kEbx)) == Refs{});
  CHECK(refs_of(based(kEbx).imm32({0x8d, 0x83}, 0xf0)) == Refs{{Kind::kAddress, kGot + 0xf0}});
  CHECK(refs_of(based(kEbx).imm32({0x8d, 0xb3}, 0)) == Refs{});  // lea 0(%ebx),%esi: a copy
}

TEST_CASE("32-bit: limits of comparisons, with a register or an argument") {
  CHECK(refs_of(Code().bytes({0x83, 0xfe, 0x0f, 0x77, 0x00})) == Refs{{Kind::kLimit, 15}});
  CHECK(refs_of(Code().bytes({0x83, 0x7d, 0x08, 0x17, 0x77, 0x00})) == Refs{{Kind::kLimit, 23}});
  CHECK(refs_of(Code().bytes({0x83, 0x7c, 0x24, 0x04, 0x0f, 0x77, 0x00})) ==
        Refs{{Kind::kLimit, 15}});
  CHECK(refs_of(Code().bytes({0x83, 0x7e, 0x04, 0x0f, 0x77, 0x00})) == Refs{});  // (%esi)
}

TEST_CASE("32-bit: a call of a thunk does not leave, others do") {
  CHECK(refs_of(Code().rip({0xe8}, 0x8)) == Refs{{Kind::kLeaves, 0x8}});
  CHECK(refs_of(Code().rip({0xe8}, kThunks)) == Refs{});
  CHECK(refs_of(Code().rip({0xe8}, kThunks + 1)) == Refs{{Kind::kLeaves, kThunks + 1}});
}

TEST_CASE("32-bit: of a stretch with too many labels nothing is said") {
  const auto with_branches = [](int count) {
    Code code = based(kEbx);
    for (int i = 0; i < count; ++i) {
      code.bytes({0x74, 0x00});
    }
    return refs_of(read(code, kEbx, -0x3f80));
  };
  CHECK(with_branches(100) == kSeen);
  CHECK(with_branches(300) == Refs{});
}

TEST_CASE("32-bit: random code never leads out of the image") {
  test::Random random;
  CAPTURE(random.seed());
  long seen = 0;
  for (int round = 0; round < 3000; ++round) {
    Code code = based(kEbx);
    for (std::uint64_t left = random.below(200); left > 0; --left) {
      code.bytes({static_cast<std::uint8_t>(random.below(256))});
    }
    seen += static_cast<long>(refs_of(code).size());
  }
  CHECK(seen > 1000);
}

}  // namespace
}  // namespace vvarclock::arch
