// Guards against: a reference, a distance or a limit seen where there is none; one that is there
// and not seen; a walk that leaves the function or the image.
//
// Reference: code put together by hand (instruction_test.cc shows the encodings).
#include "arch/x86/code_refs.h"

#include <utility>
#include <vector>

#include "test/support/catch.h"
#include "test/support/guarded_bytes.h"
#include "test/support/machine_code.h"
#include "test/support/random.h"

namespace vvarclock::arch {
namespace {

using test::Code;
using Kind = CodeRefKind;
using Refs = std::vector<std::pair<Kind, std::int64_t>>;

constexpr std::size_t kStart = 0x40;

// The references of code that starts at kStart of an image; targets of the code count from the
// image's start.
Refs refs_of(const Code& code, CodeExtent extent = CodeExtent::kWholeStretch) {
  std::vector<std::byte> image(kStart);
  for (const std::uint8_t byte : code.raw()) {
    image.push_back(std::byte{byte});
  }
  image.push_back(std::byte{0x90});  // so that a branch to the end of the code stays inside
  for (const Code::Fix& fix : code.fixes()) {
    const auto distance =
        static_cast<std::int32_t>(fix.target - static_cast<std::int64_t>(kStart + fix.end));
    std::memcpy(image.data() + kStart + fix.at, &distance, sizeof distance);
  }
  const test::GuardedBytes guarded(image);
  Refs refs;
  visit_code_refs<CodeWidth::k64>(
      guarded.get(), kStart, image.size(), extent,
      [&](const CodeRef& ref) { refs.emplace_back(ref.kind, ref.value); });
  return refs;
}

TEST_CASE("RIP-relative operands, whatever instruction has them") {
  CHECK(refs_of(Code().rip({0x4c, 0x8d, 0x15}, -0x6000)) ==
        Refs{{Kind::kAddress, -0x6000}});  // lea, r10
  CHECK(refs_of(Code().rip({0x48, 0x8d, 0x3d}, -0x3f80)) ==
        Refs{{Kind::kAddress, -0x3f80}});                                               // lea, rdi
  CHECK(refs_of(Code().rip({0x8b, 0x15}, -0x2000)) == Refs{{Kind::kMemory, -0x2000}});  // mov
  CHECK(refs_of(Code().rip({0x44, 0x8b, 0x05}, -0x5000)) ==
        Refs{{Kind::kMemory, -0x5000}});  // mov, r8d
  CHECK(refs_of(Code().rip({0x48, 0x2b, 0x15}, -0x3f78)) == Refs{{Kind::kMemory, -0x3f78}});  // sub
  CHECK(refs_of(Code().rip({0x48, 0x39, 0x15}, -0x3f70)) == Refs{{Kind::kMemory, -0x3f70}});  // cmp
  CHECK(refs_of(Code().rip({0x0f, 0xbe, 0x15}, -0x1fe4)) ==
        Refs{{Kind::kMemory, -0x1fe4}});  // movsbl
  // An immediate behind the distance counts: the target is relative to the end of the instruction.
  CHECK(refs_of(Code().rip({0xf6, 0x05}, -0x1fe3, {0x01})) ==
        Refs{{Kind::kMemory, -0x1fe3}});  // testb $1
  CHECK(refs_of(Code().rip({0x81, 0x3d}, -0x3f7c, {0xff, 0xff, 0xff, 0x7f})) ==
        Refs{{Kind::kMemory, -0x3f7c}});
  CHECK(refs_of(Code().rip({0x48, 0x8d, 0x05}, 0x10)) ==
        Refs{{Kind::kAddress, 0x10}});  // inside the image
}

TEST_CASE("what only looks like a RIP-relative operand is none") {
  CHECK(refs_of(Code().bytes({0x8b, 0x90, 0x00, 0xa0, 0xff, 0xff}))
            .empty());  // mov -0x6000(%rax),%edx
  CHECK(refs_of(Code().bytes({0x67, 0x8b, 0x05, 0x00, 0xa0, 0xff, 0xff}))
            .empty());  // mov -0x6000(%eip),%eax
  CHECK(refs_of(Code().bytes({0x65, 0x8b, 0x05, 0x00, 0xa0, 0xff, 0xff}))
            .empty());  // mov %gs:-0x6000(%rip),%eax
  // The bytes of a lea inside the constant of another instruction.
  CHECK(
      refs_of(Code().bytes({0x48, 0xb8, 0x90, 0x48, 0x8d, 0x05, 0x00, 0xa0, 0xff, 0xff})).empty());
}

TEST_CASE("operands at a fixed address, without base and index") {
  const Refs address{{Kind::kFixed, -0xa00f80}};  // 0xffffffffff5ff080
  CHECK(refs_of(Code().imm32({0x48, 0x8b, 0x04, 0x25}, 0xff5ff080)) == address);  // mov, rax
  CHECK(refs_of(Code().imm32({0x44, 0x8b, 0x24, 0x25}, 0xff5ff080)) == address);  // mov, r12d
  CHECK(refs_of(Code().imm32({0x48, 0x2b, 0x04, 0x25}, 0xff5ff080)) == address);  // sub
  CHECK(refs_of(Code().imm32({0x48, 0x8b, 0x04, 0xc5}, 0xff5ff080)).empty());  // an index, rax * 8
  CHECK(refs_of(Code().imm32({0x4a, 0x8b, 0x04, 0x25}, 0xff5ff080)).empty());  // an index, r12
  CHECK(refs_of(Code().imm32({0x48, 0x8b, 0x84, 0x24}, 0xff5ff080)).empty());  // a base, rsp
  CHECK(refs_of(Code().imm32({0x48, 0x8b, 0x84, 0x25}, 0xff5ff080)).empty());  // a base, rbp
  CHECK(refs_of(Code().imm32({0x65, 0x8b, 0x04, 0x25}, 0xff5ff080)).empty());  // %gs
}

TEST_CASE("constants added to 64-bit registers") {
  CHECK(refs_of(Code().imm32({0x49, 0x81, 0xc2}, 0xe8)) == Refs{{Kind::kStep, 0xe8}});  // add, r10
  CHECK(refs_of(Code().imm32({0x48, 0x81, 0xe8}, 0xf0)) == Refs{{Kind::kStep, 0xf0}});  // sub, rax
  CHECK(refs_of(Code().imm32({0x48, 0x81, 0xc0}, 0xffffff10U)) ==
        Refs{{Kind::kStep, 0xf0}});                                               // add -0xf0
  CHECK(refs_of(Code().imm32({0x48, 0x05}, 0xf8)) == Refs{{Kind::kStep, 0xf8}});  // add, rax
  CHECK(refs_of(Code().imm32({0x48, 0x2d}, 0xe0)) == Refs{{Kind::kStep, 0xe0}});  // sub, rax
  CHECK(refs_of(Code().imm32({0x49, 0x8d, 0x83}, 0xf0)) ==
        Refs{{Kind::kStep, 0xf0}});  // lea 0xf0(%r11)
  CHECK(refs_of(Code().imm32({0x49, 0x8d, 0x82}, 0xffffff18U)) ==
        Refs{{Kind::kStep, 0xe8}});  // lea -0xe8(%r10)
  CHECK(refs_of(Code().imm32({0x48, 0x8d, 0x84, 0x18}, 0xe8)) ==
        Refs{{Kind::kStep, 0xe8}});  // lea (%rax,%rbx)
  CHECK(refs_of(Code().imm32({0x49, 0x8d, 0x84, 0x24}, 0xe8)) ==
        Refs{{Kind::kStep, 0xe8}});  // lea 0xe8(%r12)
}

TEST_CASE("constants of other instructions are no steps") {
  CHECK(refs_of(Code().imm32({0x48, 0x81, 0xec}, 0xe8)).empty());        // sub, rsp
  CHECK(refs_of(Code().imm32({0x48, 0x81, 0xc5}, 0xe8)).empty());        // add, rbp
  CHECK(refs_of(Code().imm32({0x48, 0x8d, 0x84, 0x24}, 0xe8)).empty());  // lea 0xe8(%rsp)
  CHECK(refs_of(Code().imm32({0x48, 0x8d, 0x85}, 0xe8)).empty());        // lea 0xe8(%rbp)
  CHECK(refs_of(Code().imm32({0x81, 0xc2}, 0xe8)).empty());              // add, edx: no address
  CHECK(refs_of(Code().imm32({0x48, 0x81, 0xe2}, 0xe8)).empty());        // and
  CHECK(refs_of(Code().imm32({0x48, 0x81, 0x82}, 0)).empty());           // adcl to memory, cut off
  CHECK(refs_of(Code().imm32({0x8b, 0x8a}, 0xe0)).empty());              // mov 0xe0(%rdx),%ecx
  CHECK(refs_of(Code().imm32({0xb8}, 0xe8)).empty());                    // mov
  CHECK(refs_of(Code().bytes({0x49, 0x8d, 0x40, 0x02})).empty());        // lea 0x2(%r8)
}

TEST_CASE("limits of unsigned comparisons") {
  const Refs fifteen{{Kind::kLimit, 15}};
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f, 0x77, 0x00})) == fifteen);  // cmp $0xf,%edi; ja
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f, 0x76, 0x00})) == fifteen);  // jbe
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x10, 0x73, 0x00})) == fifteen);  // cmp $0x10,%edi; jae
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x10, 0x72, 0x00})) == fifteen);  // jb
  CHECK(refs_of(Code().bytes({0x41, 0x83, 0xf9, 0x0f, 0x77, 0x00})) == fifteen);  // cmp $0xf,%r9d
  CHECK(refs_of(Code().bytes({0x83, 0xfb, 0x0f, 0x0f, 0x87, 0, 0, 0, 0})) ==
        fifteen);  // ja, 32 bits
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x17, 0x89, 0xf9, 0x77, 0x00})) ==
        Refs{{Kind::kLimit, 23}});  // a move between
}

TEST_CASE("other comparisons are no limits") {
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f, 0x7f, 0x00})).empty());        // jg: signed
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f, 0x74, 0x00})).empty());        // je
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0xff, 0x77, 0x00})).empty());        // cmp $-1
  CHECK(refs_of(Code().bytes({0x83, 0x3f, 0x0f, 0x77, 0x00})).empty());        // cmpl $0xf,(%rdi)
  CHECK(refs_of(Code().bytes({0x66, 0x83, 0xff, 0x0f, 0x77, 0x00})).empty());  // cmp $0xf,%di
  CHECK(refs_of(Code().bytes({0x83, 0xef, 0x0f, 0x77, 0x00})).empty());        // sub $0xf,%edi
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x00, 0x72, 0x00})).empty());        // cmp $0
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f})).empty());                    // no branch at all
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f, 0xeb, 0x00, 0x77, 0x00}))
            .empty());  // a jump: what follows it has other flags
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f, 0x74, 0x00, 0x77, 0x00}))
            .empty());  // the second branch is not trusted
  CHECK(refs_of(Code().bytes({0x83, 0xff, 0x0f, 0x90, 0x90, 0x90, 0x90, 0x77, 0x00}))
            .empty());  // too far away
}

TEST_CASE("calls, jumps and branches to outside") {
  CHECK(refs_of(Code().rip({0xe8}, 0x10)) == Refs{{Kind::kLeaves, 0x10}});
  CHECK(refs_of(Code().rip({0xe9}, 0x500)) == Refs{{Kind::kLeaves, 0x500}});
  CHECK(refs_of(Code().rip({0xe9}, kStart + 6)) ==
        Refs{{Kind::kLeaves, kStart + 6}});  // to the very end
  CHECK(refs_of(Code().rip({0x0f, 0x84}, 0x500)) == Refs{{Kind::kLeaves, 0x500}});
  CHECK(refs_of(Code().bytes({0x74, 0x00, 0xeb, 0xfc})).empty());  // both inside
  CHECK(refs_of(Code().bytes({0xff, 0xd0})).empty());              // call *%rax: unknown
}

TEST_CASE("a stretch of unknown length ends where nothing runs on") {
  const auto extent = CodeExtent::kUntilReturn;
  const Refs one{{Kind::kMemory, -0x1000}};
  for (const auto& end : {Code().bytes({0xc3}), Code().bytes({0xcc}), Code().bytes({0x0f, 0x0b}),
                          Code().bytes({0xff, 0xe0}), Code().bytes({0xeb, 0xf8}),
                          Code().bytes({0xe9, 0xf5, 0xff, 0xff, 0xff})}) {
    Code code;
    code.rip({0x8b, 0x15}, -0x1000);
    for (const std::uint8_t byte : end.raw()) {
      code.bytes({byte});
    }
    CHECK(refs_of(code.rip({0x8b, 0x15}, -0x2000), extent) == one);
  }
  // je over the return: what it leads to still belongs.
  const Code branch =
      Code().bytes({0x74, 0x01, 0xc3}).rip({0x8b, 0x15}, -0x1000).ret().rip({0x8b, 0x15}, -0x2000);
  CHECK(refs_of(branch, extent) == one);
  CHECK(refs_of(branch).size() == 2);  // with a known length the return means nothing
}

TEST_CASE("an instruction that is not understood ends the walk") {
  CHECK(
      refs_of(
          Code().rip({0x8b, 0x15}, -0x1000).bytes({0xc5, 0xf8, 0x77}).rip({0x8b, 0x15}, -0x2000)) ==
      Refs{{Kind::kMemory, -0x1000}});  // vzeroupper
}

TEST_CASE("a stretch that is not inside the image is cut or empty") {
  const std::vector<std::byte> image(64, std::byte{0x90});
  int visits = 0;
  const auto count = [&](const CodeRef&) { ++visits; };
  const test::GuardedBytes guarded(image);
  visit_code_refs<CodeWidth::k64>(guarded.get(), 32, 4096, CodeExtent::kWholeStretch, count);
  visit_code_refs<CodeWidth::k64>(guarded.get(), 64, 64, CodeExtent::kWholeStretch, count);
  visit_code_refs<CodeWidth::k64>(guarded.get(), 4096, 8192, CodeExtent::kUntilReturn, count);
  visit_code_refs<CodeWidth::k64>(guarded.get(), 40, 20, CodeExtent::kUntilReturn, count);
  CHECK(visits == 0);
}

TEST_CASE("random code never leads out of the image") {
  test::Random random;
  CAPTURE(random.seed());
  long visits = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> image(random.index_below(300));
    for (std::byte& byte : image) {
      byte = static_cast<std::byte>(random.below(256));
    }
    const test::GuardedBytes guarded(image);
    visit_code_refs<CodeWidth::k64>(guarded.get(), random.index_below(300), random.index_below(400),
                                    CodeExtent::kUntilReturn, [&](const CodeRef&) { ++visits; });
  }
  CHECK(visits > 0);
}

}  // namespace
}  // namespace vvarclock::arch
