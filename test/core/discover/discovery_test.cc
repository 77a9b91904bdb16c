// Discovery from one end to the other: an image and its pages in, a binding or the reason out.
// Against simulated kernels with hand-made images, and once against the kernel that runs this test.
//
// Guards: candidates in the wrong order, a binding from another row, a refusal without its reason.
#include "core/discover/discovery.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "test/core/discover/probe_kernel.h"
#include "test/support/catch.h"
#include "test/support/image_builder.h"

namespace vvarclock::test {
namespace {

using discover::Discovery;
using discover::ImageError;
using discover::Outcome;
using discover::ProbeTest;
using vvar::Layout;

void install(FakeKernel& kernel, const ImageSpec& spec) {
  const std::vector<std::byte> image = build_image(spec);
  REQUIRE(image.size() <= kernel.writable_image().size());
  std::copy(image.begin(), image.end(), kernel.writable_image().begin());
}

// The same functions with code that refers to nothing.
ImageSpec silent(const Layout& layout) {
  ImageSpec spec = vdso_like(layout);
  for (ImageFunction& function : spec.functions) {
    function.code = Code().ret();
  }
  return spec;
}

Discovery discover_on(const FakeKernel& kernel, arch::CodeWidth width) {
  return width == arch::CodeWidth::k64
             ? discover::discover_of<arch::CodeWidth::k64>(kernel.table(), kernel.image(),
                                                           discover::kAttachEffort)
             : discover::discover_of<arch::CodeWidth::k32>(kernel.table(), kernel.image(),
                                                           discover::kAttachEffort);
}
Discovery discover_on(const FakeKernel& kernel) {
  return discover_on(kernel, width_of(kernel.layout()));
}

std::string words(Outcome outcome) { return discover::describe(outcome); }

// Every clock through the binding that was found: between two answers of the kernel, or left to it.
// What the row does not hold is always left to it.
bool reads_as_the_kernel_answers(const ProbeKernel& kernel, const Discovery& found) {
  const arch::ClockMode mode = kernel.state().times.source.mode;
  const bool counts = mode != arch::kModeNone &&
                      (mode != arch::kModePvclock || found.layout->pvclock != vvar::kNoPage);
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    arch::Timespec64 before{};
    arch::Timespec64 after{};
    vvar::SecNsec own{};
    kernel.table().clock_gettime(static_cast<clockid_t>(clock.id), &before);
    const bool served =
        kernel.table().read_clock(found.layout->block, found.binding, clock.id, own);
    kernel.table().clock_gettime(static_cast<clockid_t>(clock.id), &after);
    const auto ns = [](auto sec, auto nsec) { return Int128{sec} * kSecond + nsec; };
    const Int128 value = ns(own.sec, own.nsec);
    const bool held = vvar::is_in(clock.id, vvar::block_layout(found.layout->block).ids);
    if (served != (held && (counts || vvar::is_in(clock.id, vvar::kCoarseIds))) ||
        (served &&
         (value < ns(before.tv_sec, before.tv_nsec) || value > ns(after.tv_sec, after.tv_nsec)))) {
      return false;
    }
  }
  return true;
}

const discover::Refusal* refusal_of(const Discovery& found, const Layout& layout) {
  for (std::size_t i = 0; i < found.refusal_count; ++i) {
    if (found.refusals[i].layout == &layout) {
      return &found.refusals[i];
    }
  }
  return nullptr;
}

}  // namespace

namespace {

void check_led_to(const Layout& layout, arch::CodeWidth width, arch::ClockMode mode) {
  CAPTURE(layout.name, width, arch::clock_mode_name(mode));
  ProbeKernel kernel(layout, {.mode = mode, .ticking = true});
  install(kernel, vdso_like(layout, width));
  const Discovery found = discover_on(kernel, width);
  CHECK(words(found.outcome) == words(Outcome::kBound));
  CHECK(found.layout == &layout);
  CHECK(found.confirmed_by_code);
  for (std::size_t i = 0; i < found.refusal_count; ++i) {
    CHECK(same_code(layout, *found.refusals[i].layout));
  }
  CHECK(found.binding.data == kernel.at(layout.data));
  CHECK(found.binding.counters.pvclock == kernel.at(layout.pvclock));
  CHECK(found.binding.counters.hvclock == kernel.at(layout.hvclock));
  CHECK(reads_as_the_kernel_answers(kernel, found));
  CHECK(found.binding.timezone == layout.timezone);
  CHECK(found.binding.coarse_resolution == kTickNs);
}

}  // namespace

TEST_CASE("every generation's image leads to its own layout at once, in every mode and width",
          "[discovery]") {
  for (const Layout& layout : vvar::kLayouts) {
    for (arch::ClockMode mode = arch::kModeNone; mode <= arch::kModeHvclock; ++mode) {
      for (const arch::CodeWidth width : {arch::CodeWidth::k32, arch::CodeWidth::k64}) {
        if (has_mode(layout, mode) && layout.is_for(width)) {
          check_led_to(layout, width, mode);
        }
      }
    }
  }
}

TEST_CASE("an image of the other width is none", "[discovery]") {
  for (const arch::CodeWidth width : {arch::CodeWidth::k32, arch::CodeWidth::k64}) {
    const auto other = width == arch::CodeWidth::k32 ? arch::CodeWidth::k64 : arch::CodeWidth::k32;
    ProbeKernel kernel(vvar::kLayouts[0], {.ticking = true});
    install(kernel, vdso_like(vvar::kLayouts[0], width));
    CHECK(words(discover_on(kernel, width).outcome) == words(Outcome::kBound));
    const Discovery found = discover_on(kernel, other);
    CHECK(words(found.outcome) == words(Outcome::kBadImage));
    CHECK(found.image_error == ImageError::kNotElf);
  }
}

TEST_CASE("code that says nothing leaves it to the pages", "[discovery]") {
  for (const Layout& layout : vvar::kLayouts) {
    CAPTURE(layout.name);
    ProbeKernel kernel(layout, {.ticking = true});
    install(kernel, silent(layout));
    Discovery found = discover_on(kernel);
    if (is_old(layout)) {
      CHECK(words(found.outcome) == words(Outcome::kNoLayout));
      REQUIRE(refusal_of(found, layout) != nullptr);
      CHECK(verdict(*refusal_of(found, layout)) == verdict(ProbeTest::kCodeSilent));
      continue;
    }
    CHECK(words(found.outcome) == words(Outcome::kBound));
    CHECK(found.layout == &layout);
    CHECK_FALSE(found.confirmed_by_code);

    kernel.use_source(arch::kModeNone);
    found = discover_on(kernel);
    CHECK(words(found.outcome) == words(Outcome::kNoLayout));
    REQUIRE(refusal_of(found, layout) != nullptr);
    CHECK(verdict(*refusal_of(found, layout)) == verdict(ProbeTest::kCodeSilent));
  }
}

TEST_CASE(
    "code of one generation over pages of another: nothing is believed, and each row has its "
    "reason",
    "[discovery]") {
  for (const Layout& pages : vvar::kLayouts) {
    for (const Layout& code : vvar::kLayouts) {
      // 3.10 to 3.15: the code looks alike. Same bytes: nothing but the code could tell. The page
      // of 5.3 holds what the code of 4.20 reads.
      const bool newer_page =
          code.block == vvar::BlockKind::kC && pages.block == vvar::BlockKind::kD;
      if (&pages == &code || !same_programs(code, pages) || same_code(pages, code) ||
          same_bytes(pages, code) || newer_page || names_hpet_as_data(code, pages)) {
        continue;
      }
      CAPTURE(pages.name, code.name);
      ProbeKernel kernel(pages, {.ticking = true});
      install(kernel, vdso_like(code));
      const Discovery found = discover_on(kernel, width_of(code));
      // Code before 4.20 says so little that it does not contradict other pages at its address.
      const bool own_bytes =
          found.layout != nullptr && (found.layout == &pages || same_bytes(*found.layout, pages));
      if (code.highest_id == 0 && code.data == pages.data && own_bytes) {
        CHECK_FALSE(found.confirmed_by_code);
        continue;
      }
      CHECK(words(found.outcome) == words(Outcome::kNoLayout));
      CHECK(found.layout == nullptr);
      CHECK(found.binding.data == nullptr);
      for (const Layout& row : vvar::kLayouts) {
        CHECK((refusal_of(found, row) != nullptr) == same_programs(code, row));
      }
    }
  }
}

TEST_CASE("a process that starts in a time namespace is bound", "[discovery]") {
  for (const Layout& layout : vvar::kLayouts) {
    if (layout.timens == vvar::kNoPage) {
      continue;
    }
    CAPTURE(layout.name);
    ProbeKernel kernel(layout, {.ticking = true});
    install(kernel, vdso_like(layout));
    kernel.enter_timens({.monotonic = {12, 34}, .boottime = {56, 78}});
    const Discovery found = discover_on(kernel);
    CHECK(words(found.outcome) == words(Outcome::kBound));
    CHECK(found.binding.timens_data == kernel.image() + layout.timens);
  }
}

TEST_CASE("no vDSO, an unreadable one and a strange one are told apart", "[discovery]") {
  const Layout& layout = vvar::kLayouts[0];
  ProbeKernel kernel(layout, {.ticking = true});
  CHECK(words(discover::discover(kernel.table(), nullptr, discover::kAttachEffort).outcome) ==
        words(Outcome::kNoVdso));
  const std::byte* const hole = kernel.image() + layout.pvclock;
  CHECK(words(discover::discover(kernel.table(), hole, discover::kAttachEffort).outcome) ==
        words(Outcome::kUnreadable));

  Discovery found = discover_on(kernel);  // zeros
  CHECK(words(found.outcome) == words(Outcome::kBadImage));
  CHECK(found.image_error == ImageError::kNotElf);

  ImageSpec no_clock = vdso_like(layout);
  std::erase_if(no_clock.functions, [](const ImageFunction& function) {
    return function.name == "__vdso_clock_gettime";
  });
  install(kernel, no_clock);
  found = discover_on(kernel);
  CHECK(words(found.outcome) == words(Outcome::kBadImage));
  CHECK(found.image_error == ImageError::kNoClock);
}

TEST_CASE("what the image claims beyond its mapping is not read", "[discovery]") {
  const Layout& layout = vvar::kLayouts[0];
  ProbeKernel kernel(layout, {.ticking = true});
  install(kernel, vdso_like(layout));
  constexpr std::size_t kSectionHeaderOffset = 0x28;  // e_shoff
  const std::uint64_t far = 0x9000;
  std::memcpy(kernel.writable_image().data() + kSectionHeaderOffset, &far, sizeof(far));
  const Discovery found = discover_on(kernel);  // ends, bound or not, without a fault
  CHECK((found.outcome == Outcome::kBound || found.outcome == Outcome::kBadImage));
}

TEST_CASE("the kernel that runs this test is discovered, and its page agrees with its system calls",
          "[discovery][live]") {
  if (discover::vdso_address() == nullptr) {
    skip("this process has no vDSO");
    return;
  }
  const discover::Kernel& kernel = discover::host_kernel(discover::counter_allowed());
  const Discovery found =
      discover::discover(kernel, discover::vdso_address(), discover::kDiagnosisEffort);
  for (std::size_t i = 0; i < found.refusal_count; ++i) {
    UNSCOPED_INFO(found.refusals[i].layout->name << ": " << verdict(found.refusals[i]));
  }
  REQUIRE(words(found.outcome) == words(Outcome::kBound));
  for (const Layout& other : vvar::kLayouts) {
    if (&other != found.layout) {
      CAPTURE(other.name);
      vvar::Binding unused;
      const discover::Probe bytes_alone{&kernel, found.image.bytes, {}, discover::kAttachEffort};
      CHECK(verdict(discover::probe_layout(bytes_alone, other, unused)) !=
            verdict(ProbeTest::kPassed));
    }
  }
}

}  // namespace vvarclock::test
