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
  REQUIRE(parse_vdso_image(guarded.get(), image) == ImageError::kNone);
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

TEST_CASE("every layout is recognised in code of its kind, and no other") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    CAPTURE(layout.name);
    const CodeHints hints = hints_of(test::vdso_like(layout));
    CHECK(hints.data == layout.data);
    CHECK(hints.stride == vvar::block_layout(layout.block).stride);
    CHECK(hints.highest_id == layout.highest_id);
    for (const vvar::Layout& other : vvar::kLayouts) {
      CAPTURE(other.name);
      const HintVerdict verdict = judge(hints, other);
      CHECK((verdict == HintVerdict::kConfirms) == (&other == &layout));
      CHECK((verdict != HintVerdict::kSilent));
    }
  }
}

TEST_CASE("a verdict names the first contradiction; missing hints are silent") {
  const vvar::Layout& layout = vvar::kLayouts[0];
  const auto verdict = [&](std::int32_t data, std::uint16_t stride, std::uint8_t id) {
    return judge({data, stride, id}, layout);
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
  if (image.linux_version_code < 0x050300 || image.linux_version_code >= 0x070400) {
    return test::skip("this kernel is older or newer than the layouts that are described");
  }
  const CodeHints hints = scan_code(image);
  CAPTURE(hints.data, hints.stride, hints.highest_id);
  int confirmed = 0;
  for (const vvar::Layout& layout : vvar::kLayouts) {
    confirmed += judge(hints, layout) == HintVerdict::kConfirms ? 1 : 0;
  }
  CHECK(confirmed == 1);
}

}  // namespace
}  // namespace vvarclock::discover
