// Guards against: a hint read out of code that does not give it; one that is there and missed; a
// verdict that lets a layout pass against the code.
#include "core/discover/code_hints.h"

#include <sys/auxv.h>

#include <vector>

#include "test/support/catch.h"
#include "test/support/image_builder.h"

namespace vvarclock::discover {
namespace {

using test::Code;
using test::ImageSpec;

CodeHints hints_of(const ImageSpec& spec) {
  const std::vector<std::byte> bytes = test::build_image(spec);
  const test::GuardedBytes guarded(bytes);
  VdsoImage image;
  REQUIRE(parse_vdso_image(guarded.get(), image, spec.width) == ImageError::kNone);
  return scan_code(image);
}

// An image whose clock_gettime is `code`, followed by the helpers.
CodeHints hints_of(const Code& code, std::vector<test::ImageFunction> helpers = {}) {
  ImageSpec spec;
  spec.functions = {{"__vdso_clock_gettime", code, true, ""}};
  for (test::ImageFunction& helper : helpers) {
    helper.exported = false;
    spec.functions.push_back(helper);
  }
  return hints_of(spec);
}

Code data_at(std::int64_t data) { return Code().rip({0x4c, 0x8d, 0x15}, data); }    // lea, r10
Code limit(std::uint8_t id) { return Code().bytes({0x83, 0xff, id, 0x77, 0x00}); }  // cmp, %edi; ja

void check_recognised(const vvar::Layout& layout, arch::CodeWidth width) {
  CAPTURE(layout.name, width);
  const CodeHints hints = hints_of(test::vdso_like(layout, width));
  CHECK(hints.width == width);
  CHECK(hints.data == layout.data);
  CHECK(hints.stride == vvar::block_layout(layout.block).stride);
  CHECK(hints.highest_id == layout.highest_id);
  CHECK(hints.anchor == layout.anchor);
  CHECK(hints.hpet == layout.hpet);
  CHECK(names_page(hints, layout.pvclock) == (layout.pvclock != vvar::kNoPage));
  CHECK(names_page(hints, layout.hvclock) == (layout.hvclock != vvar::kNoPage));
  for (const vvar::Layout& other : vvar::kLayouts) {
    if (!other.is_for(width)) {
      continue;
    }
    CAPTURE(other.name);
    const HintVerdict verdict = judge(hints, other);
    // Until 3.15 the 64-bit code of all generations looks alike, and the bytes tell.
    const bool alike =
        layout.anchor == vvar::Anchor::kAbsolute && other.anchor == vvar::Anchor::kAbsolute;
    CHECK((verdict == HintVerdict::kConfirms) == (&other == &layout || alike));
    // Code before 5.3 has no stride, before 4.20 no limit: nothing to contradict.
    CHECK((verdict != HintVerdict::kSilent || hints.stride == 0));
  }
}

TEST_CASE("every layout is recognised in code of its kind, and no other") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    for (const arch::CodeWidth width : {arch::CodeWidth::k32, arch::CodeWidth::k64}) {
      if (layout.is_for(width)) {
        check_recognised(layout, width);
      }
    }
  }
}

TEST_CASE("32-bit code: the furthest field tells the block of a 32-bit kernel from the other") {
  const vvar::Layout& wide = vvar::kLayouts[7];
  const vvar::Layout& narrow = vvar::kLayouts[15];
  REQUIRE(wide.data == narrow.data);
  const auto verdict = [](std::uint16_t tail, const vvar::Layout& layout) {
    return judge({.width = arch::CodeWidth::k32, .data = -0x2f80, .tail = tail}, layout);
  };
  CHECK(verdict(76, narrow) == HintVerdict::kConfirms);
  CHECK(verdict(72, narrow) == HintVerdict::kConfirms);
  CHECK(verdict(76, wide) == HintVerdict::kSilent);
  CHECK(verdict(100, wide) == HintVerdict::kConfirms);
  CHECK(verdict(96, wide) == HintVerdict::kConfirms);
  CHECK(verdict(100, narrow) == HintVerdict::kOtherFields);
  CHECK(verdict(80, narrow) == HintVerdict::kOtherFields);
  CHECK(verdict(104, wide) == HintVerdict::kOtherFields);
  CHECK(verdict(0, narrow) == HintVerdict::kSilent);
  CHECK(verdict(68, narrow) == HintVerdict::kSilent);
  // Of the generic vDSO and of 64-bit code it says nothing.
  CHECK(judge({.width = arch::CodeWidth::k32,
               .data = -0x6000,
               .stride = 232,
               .highest_id = 23,
               .tail = 232},
              vvar::kLayouts[0]) == HintVerdict::kConfirms);
  CHECK(judge({.width = arch::CodeWidth::k64, .data = -0x2f80, .tail = 300}, wide) ==
        HintVerdict::kConfirms);
}

TEST_CASE("a verdict names the first contradiction; missing hints are silent") {
  const vvar::Layout& layout = vvar::kLayouts[0];
  const auto verdict = [&](std::int32_t data, std::uint16_t stride, std::uint8_t id) {
    return judge({.width = arch::CodeWidth::k64, .data = data, .stride = stride, .highest_id = id},
                 layout);
  };
  CHECK(verdict(-0x6000, 232, 23) == HintVerdict::kConfirms);
  CHECK(verdict(-0x4000, 240, 15) == HintVerdict::kOtherData);
  CHECK(verdict(-0x6000 + 0x80, 232, 23) == HintVerdict::kOtherData);
  CHECK(verdict(-0x6000, 240, 15) == HintVerdict::kOtherStride);
  CHECK(verdict(-0x6000, 232, 15) == HintVerdict::kOtherIds);
  CHECK(verdict(0, 232, 15) == HintVerdict::kOtherIds);
  CHECK(verdict(0, 0, 0) == HintVerdict::kSilent);
  CHECK(verdict(0, 232, 23) == HintVerdict::kSilent);
  CHECK(verdict(-0x6000, 0, 23) == HintVerdict::kSilent);
  CHECK(verdict(-0x6000, 232, 0) == HintVerdict::kSilent);
}

TEST_CASE("the data page is the lowest reference before the image, and not far away") {
  CHECK(hints_of(data_at(-0x4000).rip({0x8b, 0x15}, -0x1000).ret()).data == -0x4000);
  CHECK(hints_of(Code().rip({0x8b, 0x15}, -0x3000).rip({0x8b, 0x15}, -0x6000).ret()).data ==
        -0x6000);
  CHECK(hints_of(data_at(-0x10000).ret()).data == -0x10000);
  CHECK(hints_of(data_at(-0x10001).ret()).data == 0);
  CHECK(hints_of(data_at(-0x7f000000).ret()).data == 0);
  CHECK(hints_of(data_at(0x40).ret()).data == 0);
  CHECK(hints_of(Code().ret()).data == 0);
}

TEST_CASE(
    "references of the other clock functions and of helpers count, those of anything else do not") {
  for (const char* name : {"__vdso_gettimeofday", "__vdso_time", "__vdso_clock_getres"}) {
    ImageSpec spec;
    spec.functions = {{"__vdso_clock_gettime", Code().ret(), true, ""},
                      {name, data_at(-0x5000).ret(), true, ""}};
    CAPTURE(name);
    CHECK(hints_of(spec).data == -0x5000);
    spec.functions[1].name = "__vdso_getrandom";
    CHECK(hints_of(spec).data == 0);
  }
  const std::vector<test::ImageFunction> helpers{
      {"first", Code().rip({0x8b, 0x15}, -0x2000).call("second").ret(), false, ""},
      {"second", Code().rip({0x8b, 0x15}, -0x3000).ret(), false, ""}};
  CHECK(hints_of(Code().call("first").ret(), helpers).data == -0x2000);  // one level down, not two
  CHECK(hints_of(Code().jump("first"), helpers).data == -0x2000);
  CHECK(hints_of(Code().ret(), helpers).data == 0);
}

TEST_CASE("the stride, in each form that compilers give it") {
  for (const std::uint32_t stride : {0xe0U, 0xe8U, 0xf0U, 0xf8U}) {
    CAPTURE(stride);
    CHECK(hints_of(data_at(-0x6000).rip({0x4c, 0x8d, 0x1d}, -0x6000 + std::int64_t{stride}).ret())
              .stride == stride);
    CHECK(hints_of(data_at(-0x3f80).rip({0x4c, 0x8d, 0x1d}, -0x3f80 + std::int64_t{stride}).ret())
              .stride == stride);
    CHECK(hints_of(data_at(-0x6000).rip({0x4c, 0x8d, 0x1d}, -0x5000 + std::int64_t{stride}).ret())
              .stride == stride);  // namespace page
    CHECK(hints_of(data_at(-0x6000).imm32({0x49, 0x81, 0xc2}, stride).ret()).stride == stride);
    CHECK(hints_of(data_at(-0x6000).imm32({0x49, 0x8d, 0x82}, stride).ret()).stride == stride);
    CHECK(hints_of(data_at(-0x6000).imm32({0x49, 0x8d, 0x82}, 0U - stride).ret()).stride == stride);
  }
}

TEST_CASE("no stride from other constants, from other functions, or when two disagree") {
  CHECK(hints_of(data_at(-0x6000).ret()).stride == 0);
  CHECK(hints_of(data_at(-0x6000).imm32({0x48, 0x81, 0xec}, 0xe8).ret()).stride == 0);  // sub, rsp
  CHECK(hints_of(data_at(-0x6000).imm32({0x49, 0x81, 0xc2}, 0xd8).ret()).stride == 0);
  CHECK(hints_of(data_at(-0x6000).rip({0x8b, 0x15}, -0x6000 + 0xe8).ret()).stride ==
        0);  // a field, not an address
  CHECK(hints_of(
            data_at(-0x6000).imm32({0x49, 0x81, 0xc2}, 0xe8).imm32({0x49, 0x81, 0xc2}, 0xf0).ret())
            .stride == 0);
  CHECK(hints_of(Code().imm32({0x49, 0x81, 0xc2}, 0xe8).ret()).stride == 0);  // of what?
  ImageSpec spec;
  spec.functions = {{"__vdso_clock_gettime", data_at(-0x6000).ret(), true, ""},
                    {"__vdso_gettimeofday",
                     data_at(-0x6000).rip({0x48, 0x8d, 0x05}, -0x6000 + 0xe0).ret(), true, ""}};
  CHECK(hints_of(spec).stride == 0);  // the time zone of an old layout
}

// An 8-byte form: no base register, a 32-bit signed address. reg is the middle field of ModRM.
Code fixed(std::uint8_t reg, std::uint32_t address) {
  return Code().imm32({0x48, 0x8b, static_cast<std::uint8_t>(reg << 3 | 0x04), 0x25}, address);
}

TEST_CASE("until 3.15 the data is at a fixed address, and an HPET's counter before it") {
  const CodeHints hints = hints_of(fixed(0, 0xff5fe0f0)
                                       .imm32({0x8b, 0x14, 0x25}, 0xff5ff080)
                                       .imm32({0x8b, 0x14, 0x25}, 0xff5ff010));
  CHECK(hints.anchor == vvar::Anchor::kAbsolute);
  CHECK(hints.data == -0xa00f80);
  CHECK(hints.hpet);
  CHECK(hints.pages == 0);
  CHECK_FALSE(hints_of(fixed(1, 0xff5ff080).ret()).hpet);
  CHECK(hints_of(fixed(1, 0xff5ff088).ret()).data == -0xa00f78);  // as seen, not as expected
  // With an index register, from a positive address, or in another page of the kernel: none of it.
  CHECK(hints_of(Code().imm32({0x48, 0x8b, 0x04, 0xc5}, 0xff5ff080).ret()).data == 0);
  CHECK(hints_of(fixed(0, 0x5ff080).ret()).data == 0);
  CHECK(hints_of(fixed(0, 0xff600080).ret()).data == 0);
  CHECK(hints_of(fixed(0, 0xff5fd080).ret()).data == 0);
}

TEST_CASE("in 3.16 the data is behind the image, and an HPET's counter behind that") {
  const auto far = [](std::int64_t target) { return Code().rip({0x48, 0x8b, 0x05}, target); };
  CHECK(hints_of(far(0x1080).ret()).anchor == vvar::Anchor::kImageEnd);
  CHECK(hints_of(far(0x1080).ret()).data == 0x80);
  CHECK_FALSE(hints_of(far(0x1080).ret()).hpet);
  const CodeHints hints = hints_of(far(0x20f0).rip({0x8b, 0x05}, 0x1084).rip({0x8b, 0x05}, 0x1010));
  CHECK(hints.data == 0x84);
  CHECK(hints.hpet);
  CHECK(hints_of(far(0x3080).ret()).data == 0);
  CHECK(hints_of(far(0x0f00).ret()).data == 0);
  // Its pvclock records are in the kernel's fixed mappings: not the data.
  CHECK(hints_of(far(0x1080).imm32({0x8b, 0x04, 0x25}, 0xff5ff000).ret()).data == 0x80);
}

TEST_CASE("an HPET is a page of which its counter is read and nothing else") {
  const auto three = [](std::int64_t middle, std::int64_t more) {
    return hints_of(data_at(-0x2f80)
                        .rip({0x8b, 0x05}, middle)
                        .rip({0x8b, 0x05}, more)
                        .rip({0x8b, 0x05}, -0x1000)
                        .ret());
  };
  const CodeHints with = three(-0x2000 + 0xf0, -0x2000 + 0xf0);
  CHECK(with.hpet);
  CHECK_FALSE(names_page(with, -0x2000));
  CHECK(names_page(with, -0x1000));
  CHECK(names_page(with, -0x2f80));
  const CodeHints without = three(-0x2000 + 0xf0, -0x2000);
  CHECK_FALSE(without.hpet);
  CHECK(names_page(without, -0x2000));
  CHECK_FALSE(names_page(without, 0));
  CHECK_FALSE(names_page(without, -0x4000));
  CHECK_FALSE(hints_of(data_at(-0x1f80).rip({0x8b, 0x05}, -0x2000 + 0xf0).ret()).hpet);
}

TEST_CASE("the HPET tells the two pairs of generations that have the same bytes") {
  const auto verdict = [](std::int32_t data, bool hpet, std::size_t row) {
    return judge({.width = arch::CodeWidth::k64, .data = data, .hpet = hpet}, vvar::kLayouts[row]);
  };
  CHECK(verdict(-0x2f80, false, 7) == HintVerdict::kConfirms);
  CHECK(verdict(-0x2f80, true, 7) == HintVerdict::kOtherDevice);
  CHECK(verdict(-0x2f80, true, 9) == HintVerdict::kConfirms);
  CHECK(verdict(-0x2f80, false, 9) == HintVerdict::kOtherDevice);
  CHECK(verdict(-0x1f80, false, 8) == HintVerdict::kConfirms);
  CHECK(verdict(-0x1f80, true, 8) == HintVerdict::kOtherDevice);
  CHECK(verdict(-0x1f80, true, 10) == HintVerdict::kConfirms);
  CHECK(verdict(-0x1f80, false, 10) == HintVerdict::kOtherDevice);
}

TEST_CASE("the limit of the clock ids") {
  CHECK(hints_of(limit(15).ret()).highest_id == 15);
  CHECK(hints_of(limit(23).ret()).highest_id == 23);
  CHECK(hints_of(limit(14).ret()).highest_id == 0);
  CHECK(hints_of(limit(2).bytes({0x83, 0xff, 0x17, 0x77, 0x00}).ret()).highest_id == 23);
  CHECK(hints_of(limit(15).bytes({0x83, 0xff, 0x17, 0x77, 0x00}).ret()).highest_id == 23);
  CHECK(hints_of(limit(23).bytes({0x83, 0xff, 0x0f, 0x77, 0x00}).ret()).highest_id == 23);
  ImageSpec spec;
  spec.functions = {{"__vdso_clock_gettime", Code().ret(), true, ""},
                    {"__vdso_clock_getres", limit(15).ret(), true, ""}};
  CHECK(hints_of(spec).highest_id == 15);
  spec.functions[1].name = "__vdso_gettimeofday";
  CHECK(hints_of(spec).highest_id == 0);
}

TEST_CASE("code that is not understood gives less, not something else") {
  const CodeHints hints =
      hints_of(data_at(-0x4000).bytes({0xc5, 0xf8, 0x77}).rip({0x8b, 0x15}, -0x6000).ret());
  CHECK(hints.data == -0x4000);
  CHECK(hints_of(Code().bytes({0x06}).rip({0x8b, 0x15}, -0x6000).ret()).data == 0);
}

TEST_CASE("the code of the live vDSO confirms one layout") {
  const auto* start = reinterpret_cast<const std::byte*>(getauxval(AT_SYSINFO_EHDR));
  if (start == nullptr) {
    return test::skip("this process has no vDSO");
  }
  VdsoImage image;
  REQUIRE(parse_vdso_image({start, claimed_image_size({start, 4096})}, image) == ImageError::kNone);
  if (image.linux_version_code < 0x030a00 || image.linux_version_code >= 0x070400) {
    return test::skip("this kernel is older or newer than the layouts that are described");
  }
  const CodeHints hints = scan_code(image);
  CAPTURE(hints.data, hints.stride, hints.highest_id);
  int confirmed = 0;
  for (const vvar::Layout& layout : vvar::kLayouts) {
    confirmed +=
        layout.is_for(image.width) && judge(hints, layout) == HintVerdict::kConfirms ? 1 : 0;
  }
  CHECK(confirmed == 1);
}

}  // namespace
}  // namespace vvarclock::discover
