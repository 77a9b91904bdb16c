// Clock functions for image_builder.h in the manner of compilers: what they refer to, not what they
// do. Nothing runs them.
#include "test/support/image_builder.h"

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

}  // namespace

ImageSpec vdso_like(const vvar::Layout& layout) {
  ImageSpec spec;
  spec.functions = {{"read_counter", read_counter(layout), false, ""},
                    {"__vdso_gettimeofday", gettimeofday(layout), true, "gettimeofday"},
                    {"__vdso_time", time(layout), true, "time"},
                    {"__vdso_clock_gettime", clock_gettime(layout), true, "clock_gettime"},
                    {"__vdso_clock_getres", clock_getres(layout), true, "clock_getres"}};
  return spec;
}

}  // namespace vvarclock::test
