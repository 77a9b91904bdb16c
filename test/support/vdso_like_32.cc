// Clock functions of 32-bit images in the manner of compilers: what they refer to, not what they
// do. Nothing runs them.
//
// Each function has its base from a thunk, and keeps it in a register, on its frame, or as one part
// of a sum.
#include "test/support/vdso_like_32.h"

namespace vvarclock::test {
namespace {

constexpr std::uint8_t kEax = 0;
constexpr std::uint8_t kEbx = 3;
constexpr std::int32_t kGot = 0x3d4;  // what the base points to: anywhere in the image
constexpr std::int32_t kPage = 0x1000;
constexpr std::int32_t kGetcpuMode = 0x10;  // in the data page
constexpr std::int32_t kHpetCounter = 0xf0;
constexpr std::uint8_t kLea = 0x8d;
constexpr std::uint8_t kMov = 0x8b;

// From the base to an offset of the layout.
std::uint32_t from_base(const vvar::Layout& layout, std::int32_t offset) {
  const std::int32_t from = layout.anchor == vvar::Anchor::kImageEnd ? kPage : 0;  // a small image
  return static_cast<std::uint32_t>(from + offset - kGot);
}

// `opcode`, a register, and the operand at an offset of the layout, from a base register.
Code& refer(Code& code, const vvar::Layout& layout, std::initializer_list<std::uint8_t> opcode,
            std::uint8_t reg, std::uint8_t base, std::int32_t offset) {
  code.bytes(opcode);
  return code.imm32({static_cast<std::uint8_t>(0x80 | reg << 3 | base)}, from_base(layout, offset));
}

Code prologue(std::uint8_t base) {
  Code code;
  code.base(base, base == kEax ? "thunk_ax" : "thunk_bx", kGot);
  return code.bytes({0x55, 0x89, 0xe5, 0x83, 0xec, 0x3c});  // push %ebp; mov %esp,%ebp; sub $60
}

// cmpl $0x7fffffff, mode: is this the namespace's page? Then take the real one.
void real_page(Code& code, const vvar::Layout& layout, std::uint8_t base) {
  if (layout.timens != vvar::kNoPage) {
    refer(code, layout, {0x81}, 7, base, layout.data + 4).bytes({0xff, 0xff, 0xff, 0x7f});
    refer(code, layout, {kLea}, 2, base, layout.timens);
  }
}

Code leave(Code code, std::uint32_t system_call) {
  return code.imm32({0xb8}, system_call).bytes({0xcd, 0x80, 0xc9}).ret();
}

// Readers of the pages around the data: not exported, called by the others.
Code read_counter(const vvar::Layout& layout) {
  Code code = prologue(kEbx);
  if (layout.hpet) {
    refer(code, layout, {kMov}, 0, kEbx, hpet_page(layout) + kHpetCounter);
  }
  if (layout.hvclock != vvar::kNoPage) {  // lea constant, %esi; then two parts of it
    code.imm32({kLea, 0x35}, from_base(layout, layout.hvclock))
        .bytes({kMov, 0x3c, 0x1e, kMov, 0x44, 0x1e, 0x08});
  }
  code.bytes({0x0f, 0x31});  // rdtsc
  if (layout.pvclock != vvar::kNoPage) {
    refer(code, layout, {kMov}, 1, kEbx, layout.pvclock);
    refer(code, layout, {0xf6}, 0, kEbx, layout.pvclock + 29).bytes({0x01});  // testb $1
  } else if (!vvar::block_layout(layout.block).is_generic()) {
    refer(code, layout, {kMov}, 1, kEbx, (layout.data & -kPage) + kGetcpuMode);
  }
  return code.bytes({0xc9}).ret();
}

Code clock_gettime(const vvar::Layout& layout) {
  const auto stride = static_cast<std::int32_t>(vvar::block_layout(layout.block).stride);
  Code code = prologue(kEax);
  code.bytes({0x83, 0x7d, 0x08, layout.highest_id, 0x89, 0x45, 0xcc, 0x77, 0x0a});  // id, spill, ja
  refer(code, layout, {kLea}, 7, kEax, layout.data)
      .bytes({kMov, 0x57, 0x04})  // mov 4(%edi), %edx
      .call("read_counter");
  if (layout.block == vvar::BlockKind::kV) {
    code.imm32({0x81, 0xc7}, static_cast<std::uint32_t>(stride));
    code.bytes({kMov, 0x45, 0xcc});
  } else {
    code.bytes({kMov, 0x45, 0xcc});  // the base again
    refer(code, layout, {kLea}, 7, kEax, layout.data + stride);
  }
  real_page(code, layout, kEax);
  return leave(code, 265);
}

Code clock_getres(const vvar::Layout& layout) {
  Code code = prologue(kEax);
  code.bytes({0x8b, 0x75, 0x08, 0x83, 0xfe, layout.highest_id, 0x77, 0x06});
  refer(code, layout, {kMov}, 0, kEax, layout.data + layout.hrtimer_res);
  return leave(code, 266);
}

Code gettimeofday(const vvar::Layout& layout) {
  Code code = prologue(kEbx);
  code.imm32({kLea, 0x3d}, from_base(layout, layout.data))  // to %edi
      .bytes({kMov, 0x44, 0x1f, 0x04})                      // mov 4(%edi,%ebx,1), %eax
      .call("read_counter");
  real_page(code, layout, kEbx);
  for (const std::int32_t field : {0, 4}) {
    refer(code, layout, {kMov}, 2, kEbx, layout.data + layout.timezone + field);
  }
  return leave(code, 78);
}

Code time(const vvar::Layout& layout) {
  Code code = prologue(kEax);
  refer(code, layout, {kMov}, 2, kEax,
        layout.data +
            static_cast<std::int32_t>(vvar::block_layout(layout.block).sec(vvar::kRealtime)));
  return code.bytes({0xc9}).ret();
}

// Before 5.3: no clock_getres, no second block.
Code old_clock_gettime(const vvar::Layout& layout) {
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  const std::uint8_t limit = layout.highest_id == 0 ? 6 : layout.highest_id;
  Code code = prologue(kEbx);
  code.bytes({0x83, 0x7d, 0x08, limit, 0x77, 0x00});
  for (const std::uint16_t field : {block.seq, block.mode, block.cycle_last, block.mask}) {
    refer(code, layout, {kMov}, 0, kEbx, layout.data + field);
  }
  code.call("read_counter");
  for (const vvar::ClockId id : {vvar::kRealtime, vvar::kMonotonic, vvar::kMonotonicCoarse}) {
    refer(code, layout, {kMov}, 1, kEbx, layout.data + static_cast<std::int32_t>(block.sec(id)));
    refer(code, layout, {0x03}, 0, kEbx, layout.data + static_cast<std::int32_t>(block.nsec(id)));
  }
  return leave(code, 265);
}

}  // namespace

ImageSpec vdso_like_32(const vvar::Layout& layout) {
  const bool generic = vvar::block_layout(layout.block).is_generic();
  ImageSpec spec;
  spec.width = arch::CodeWidth::k32;
  spec.functions = {{"thunk_ax", Code().bytes({0x8b, 0x04, 0x24}).ret(), false, ""},
                    {"thunk_bx", Code().bytes({0x8b, 0x1c, 0x24}).ret(), false, ""},
                    {"read_counter", read_counter(layout), false, ""},
                    {"__vdso_gettimeofday", gettimeofday(layout), true, ""},
                    {"__vdso_time", time(layout), true, ""},
                    {"__vdso_clock_gettime",
                     generic ? clock_gettime(layout) : old_clock_gettime(layout), true, ""}};
  if (generic) {
    spec.functions.push_back({"__vdso_clock_getres", clock_getres(layout), true, ""});
  }
  return spec;
}

}  // namespace vvarclock::test
