// Clock functions for image_builder.h in the manner of compilers: what they refer to, not what they
// do. Nothing runs them.
#include "test/support/image_builder.h"
#include "test/support/vdso_like_32.h"

namespace vvarclock::test {
namespace {

constexpr std::uint8_t kRipRax = 0x05;  // ModRM: RIP-relative, register 0
constexpr std::uint8_t kRipRdx = 0x15;
constexpr std::uint8_t kRipRdi = 0x3d;
constexpr std::uint8_t kRexW = 0x48;
constexpr std::uint8_t kRexWR = 0x4c;
constexpr std::uint8_t kLea = 0x8d;
constexpr std::uint8_t kMov = 0x8b;

// Readers of the hypervisor pages: not exported, called by the others.
Code read_counter(const vvar::Layout& layout) {
  return Code()
      .rip({kRexW, kLea, kRipRdi}, layout.hvclock)
      .rip({kRexWR, kMov, 0x0d}, layout.hvclock + 8)  // to r9
      .bytes({0x0f, 0x31})                            // rdtsc
      .rip({kRexW, kLea, kRipRdi}, layout.pvclock)
      .rip({0xf6, kRipRax}, layout.pvclock + 29, {0x01})  // testb $1
      .rip({0x0f, 0xbe, kRipRdx}, layout.pvclock + 28)    // movsbl
      .ret();
}

// cmpl $0x7fffffff, mode: is this the namespace's page? Then take the real one.
void real_page(Code& code, const vvar::Layout& layout) {
  if (layout.timens != vvar::kNoPage) {
    code.rip({0x81, kRipRdi}, layout.data + 4, {0xff, 0xff, 0xff, 0x7f})
        .rip({kRexW, kLea, kRipRdx}, layout.timens);
  }
}

Code gettimeofday(const vvar::Layout& layout) {
  Code code;
  code.bytes({0x55})                           // push %rbp
      .rip({kRexWR, kLea, 0x2d}, layout.data)  // to r13
      .rip({kMov, kRipRax}, layout.data + 4)
      .bytes({0x83, 0xf8, 0x01, 0x75, 0x05})  // cmp $1, %eax; jne over the call
      .call("read_counter");
  real_page(code, layout);
  return code.rip({kMov, kRipRdx}, layout.data + layout.timezone).bytes({0x5d}).ret();
}

Code time(const vvar::Layout& layout) {
  Code code;
  code.rip({kRexW, kLea, kRipRax}, layout.data);
  real_page(code, layout);
  return code.bytes({kRexW, kMov, 0x40, 0x28, 0x48, 0x85, 0xff, 0x74, 0x03, 0x48, 0x89, 0x07})
      .ret();
}

Code clock_gettime(const vvar::Layout& layout) {
  const std::uint32_t stride = vvar::block_layout(layout.block).stride;
  Code code;
  code.bytes({0x55, 0x83, 0xff, layout.highest_id, 0x77, 0x0e})  // push; cmp $limit, %edi; ja
      .rip({kRexWR, kLea, 0x15}, layout.data)                    // to r10
      .bytes(
          {0x0f, 0xae, 0xe8, 0x0f, 0x31, 0x90, 0x90})  // lfence; rdtsc; the place of an alternative
      .call("read_counter");
  if (layout.block == vvar::BlockKind::kV) {
    code.imm32({0x49, 0x81, 0xc2}, stride);  // add $stride, %r10
  } else {
    code.rip({kRexWR, kLea, 0x1d}, layout.data + static_cast<std::int32_t>(stride));  // to r11
  }
  real_page(code, layout);
  return code.imm32({0xb8}, 228).bytes({0x0f, 0x05, 0x5d}).ret();  // the system call
}

Code clock_getres(const vvar::Layout& layout) {
  Code code;
  code.bytes({0x83, 0xff, layout.highest_id, 0x77, 0x06})
      .rip({kMov, kRipRax}, layout.data + layout.hrtimer_res);
  real_page(code, layout);
  return code.imm32({0xb8}, 229).bytes({0x0f, 0x05}).ret();
}

// Before 5.3: no clock_getres, no second block, and the data where that generation keeps it.
constexpr std::int32_t kPage = 0x1000;
constexpr std::int32_t kGetcpuMode = 0x10;  // in the data page
constexpr std::int32_t kHpetCounter = 0xf0;

// `opcode`, a register and a memory operand at an offset of the layout.
void refer(Code& code, const vvar::Layout& layout, std::initializer_list<std::uint8_t> opcode,
           std::uint8_t reg, std::int32_t offset) {
  const auto field = static_cast<std::uint8_t>(reg << 3);
  code.bytes(opcode);
  if (layout.anchor == vvar::Anchor::kAbsolute) {  // no base register, a 32-bit signed address
    code.imm32({static_cast<std::uint8_t>(field | 0x04), 0x25}, static_cast<std::uint32_t>(offset));
    return;
  }
  const std::int32_t from = layout.anchor == vvar::Anchor::kImageEnd ? kPage : 0;  // a small image
  code.rip({static_cast<std::uint8_t>(field | 0x05)}, from + offset);
}

Code old_read_counter(const vvar::Layout& layout) {
  const std::int32_t page = layout.data & -kPage;
  Code code;
  if (layout.hpet) {
    refer(code, layout, {kMov}, 0, hpet_page(layout) + kHpetCounter);
  }
  if (layout.pvclock != vvar::kNoPage) {
    refer(code, layout, {kMov}, 1, layout.pvclock);
    refer(code, layout, {kRexW, kMov}, 2, layout.pvclock + 8);
  } else {
    refer(code, layout, {kMov}, 1, page + kGetcpuMode);  // whose record?
  }
  if (layout.hvclock != vvar::kNoPage) {
    refer(code, layout, {kMov}, 6, layout.hvclock);
    refer(code, layout, {kRexW, kMov}, 7, layout.hvclock + 8);
  }
  return code.bytes({0x0f, 0xae, 0xe8, 0x0f, 0x31}).ret();
}

Code old_clock(const vvar::Layout& layout, vvar::ClockId id) {
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  Code code;
  if (id == vvar::kMonotonic) {
    const std::uint8_t limit = layout.highest_id == 0 ? 6 : layout.highest_id;
    code.bytes({0x83, 0xff, limit, 0x77, 0x00});  // cmp $limit, %edi; ja
  }
  refer(code, layout, {kMov}, 0, layout.data + block.seq);
  refer(code, layout, {kMov}, 2, layout.data + block.mode);
  code.call("read_counter");
  refer(code, layout, {kRexW, 0x2b}, 0, layout.data + block.cycle_last);  // sub
  refer(code, layout, {kRexW, 0x23}, 0, layout.data + block.mask);        // and
  refer(code, layout, {kRexW, kMov}, 1, layout.data + static_cast<std::int32_t>(block.sec(id)));
  refer(code, layout, {kRexW, 0x03}, 0, layout.data + static_cast<std::int32_t>(block.nsec(id)));
  if (id == vvar::kRealtime) {
    refer(code, layout, {kMov}, 2, layout.data + layout.timezone);
  }
  refer(code, layout, {0x3b}, 0, layout.data + block.seq);  // cmp
  return code.imm32({0xb8}, 228).bytes({0x0f, 0x05}).ret();
}

Code old_time(const vvar::Layout& layout) {
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  Code code;
  refer(code, layout, {kRexW, kMov}, 0,
        layout.data + static_cast<std::int32_t>(block.sec(vvar::kRealtime)));
  return code.ret();
}

ImageSpec old_vdso_like(const vvar::Layout& layout) {
  ImageSpec spec;
  spec.functions = {
      {"read_counter", old_read_counter(layout), false, ""},
      {"__vdso_clock_gettime", old_clock(layout, vvar::kMonotonic), true, "clock_gettime"},
      {"__vdso_gettimeofday", old_clock(layout, vvar::kRealtime), true, "gettimeofday"},
      {"__vdso_time", old_time(layout), true, "time"}};
  if (layout.anchor == vvar::Anchor::kAbsolute) {
    spec.link_base = 0xffffffffff700000;
  }
  return spec;
}

}  // namespace

ImageSpec vdso_like(const vvar::Layout& layout, arch::CodeWidth width) {
  if (width == arch::CodeWidth::k32) {
    return vdso_like_32(layout);
  }
  if (!vvar::block_layout(layout.block).is_generic()) {
    return old_vdso_like(layout);
  }
  ImageSpec spec;
  spec.functions = {{"read_counter", read_counter(layout), false, ""},
                    {"__vdso_gettimeofday", gettimeofday(layout), true, "gettimeofday"},
                    {"__vdso_time", time(layout), true, "time"},
                    {"__vdso_clock_gettime", clock_gettime(layout), true, "clock_gettime"},
                    {"__vdso_clock_getres", clock_getres(layout), true, "clock_getres"}};
  return spec;
}

}  // namespace vvarclock::test
