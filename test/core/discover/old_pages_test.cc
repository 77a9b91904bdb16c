// The generations before 5.3 against each other: what the code alone tells apart, what the bytes
// do, and the pages around the data that must not be touched.
//
// Guards: another generation's mode numbers taken over the same bytes; a device read as a page.
#include <array>
#include <cstdint>

#include "test/core/discover/probe_kernel.h"
#include "test/support/catch.h"

namespace vvarclock::test {
namespace {

using discover::CodeHints;
using discover::ProbeTest;
using vvar::Layout;

constexpr std::array<arch::ClockMode, 4> kModes{arch::kModeNone, arch::kModeTsc, arch::kModePvclock,
                                                arch::kModeHvclock};
constexpr ProbeTest kOk = ProbeTest::kPassed;
using Tests = std::uint64_t;
constexpr Tests one(ProbeTest test) { return Tests{1} << static_cast<unsigned>(test); }

// What tells kinds A, A-vz and B apart at the same address.
constexpr Tests kByBytes = one(ProbeTest::kClockMode) | one(ProbeTest::kCoarseRange) |
                           one(ProbeTest::kTimezone) | one(ProbeTest::kSeqOdd);

// Neighbours whose code says less about the page than the other row asks for: the bytes decide.
ProbeTest older_page_as_newer(const Layout& page, const Layout& read_as) {
  if (page.block == vvar::BlockKind::kC) {
    return read_as.block == vvar::BlockKind::kD ? ProbeTest::kResolution : ProbeTest::kMult;
  }
  return read_as.block == vvar::BlockKind::kD ? ProbeTest::kZeroSlots : ProbeTest::kCoarseRange;
}
}  // namespace

TEST_CASE("the code's own word refuses every other generation first", "[layout_probe]") {
  for (const Layout& layout : vvar::kLayouts) {
    ProbeKernel kernel(layout, {.ticking = true});
    for (const Layout& other : vvar::kLayouts) {
      if (&other == &layout || !same_programs(layout, other)) {
        continue;
      }
      CAPTURE(layout.name, other.name);
      const auto stride = [](const Layout& of) { return vvar::block_layout(of.block).stride; };
      const bool other_place = layout.data != other.data || layout.anchor != other.anchor;
      const bool other_ids = layout.highest_id != 0 && layout.highest_id != other.highest_id;
      // 32-bit code of a 64-bit kernel over the row of a 32-bit one.
      const bool other_fields =
          width_of(layout) == arch::CodeWidth::k32 && layout.timezone > other.timezone;
      const ProbeTest found = kernel.probe(other, hints_of(layout)).test;
      CAPTURE(verdict(found));
      if (same_code(layout, other)) {
        CHECK((one(found) & kByBytes) != 0);
        continue;
      }
      const bool other_stride = stride(layout) != 0 && stride(layout) != stride(other);
      if (!other_place && !other_stride && !other_ids && !other_fields &&
          layout.hpet == other.hpet) {
        CHECK(verdict(found) == verdict(older_page_as_newer(layout, other)));
        continue;
      }
      CHECK(verdict(found) == verdict(other_place    ? ProbeTest::kCodeData
                                      : other_stride ? ProbeTest::kCodeStride
                                      : other_ids    ? ProbeTest::kCodeIds
                                      : other_fields ? ProbeTest::kCodeFields
                                                     : ProbeTest::kCodeDevice));
    }
  }
}

TEST_CASE("kinds A, A-vz and B are told apart by their bytes, in every mode", "[layout_probe]") {
  const auto check = [](const Layout& layout, arch::ClockMode mode) {
    ProbeKernel kernel(layout, {.mode = mode, .ticking = true});
    for (const Layout& other : vvar::kLayouts) {
      if (&other != &kernel.layout() && same_code(kernel.layout(), other)) {
        CAPTURE(other.name);
        const ProbeTest found = kernel.probe(other, hints_of(kernel.layout())).test;
        CAPTURE(verdict(found));
        CHECK((one(found) & kByBytes) != 0);
      }
    }
  };
  for (const Layout& layout : vvar::kLayouts) {
    for (const arch::ClockMode mode : kModes) {
      CAPTURE(layout.name, arch::clock_mode_name(mode));
      if (has_mode(layout, mode)) {
        check(layout, mode);
      }
    }
  }
}

TEST_CASE("a missed HPET reference leads to no device and to no other generation's numbers",
          "[layout_probe]") {
  for (const Layout& layout : vvar::kLayouts) {
    for (const Layout& other : vvar::kLayouts) {
      if (!layout.hpet || other.hpet || !same_bytes(layout, other)) {
        continue;
      }
      CAPTURE(layout.name, other.name);
      ProbeKernel kernel(layout, {.ticking = true});
      CodeHints hints = hints_of(layout);
      CHECK(verdict(kernel.probe(other, hints)) == verdict(ProbeTest::kCodeDevice));
      hints.hpet = false;
      vvar::Binding binding;
      CHECK(verdict(kernel.probe(other, hints, &binding)) == verdict(kOk));
      for (const arch::ClockMode mode : {arch::kModeNone, arch::kModePvclock}) {
        kernel.use_source(mode);
        for (const vvar::NamedClock& clock : vvar::kServedClocks) {
          CAPTURE(clock.name, arch::clock_mode_name(mode));
          vvar::SecNsec time{};
          CHECK(kernel.table().read_clock(other.block, binding, clock.id, time) ==
                vvar::is_in(clock.id, vvar::kCoarseIds));
        }
      }
    }
  }
}

TEST_CASE("before 5.3 a hypervisor page is taken only where the code reads it", "[layout_probe]") {
  for (const Layout& layout : vvar::kLayouts) {
    if (!is_old(layout) || layout.pvclock == vvar::kNoPage) {
      continue;
    }
    CAPTURE(layout.name);
    ProbeKernel kernel(layout, {.ticking = true});
    vvar::Binding binding;
    CodeHints hints = hints_of(layout);
    hints.pages = 0;
    CHECK(verdict(kernel.probe(layout, hints, &binding)) == verdict(kOk));
    CHECK(binding.counters.pvclock == nullptr);
    CHECK(binding.counters.hvclock == nullptr);
    kernel.use_source(arch::kModePvclock);
    CHECK(verdict(kernel.probe(layout, hints)) == verdict(ProbeTest::kCounterPage));
    CHECK(verdict(kernel.probe(layout, hints_of(layout), &binding)) == verdict(kOk));
    CHECK(binding.counters.pvclock == kernel.at(layout.pvclock));
  }
}

}  // namespace vvarclock::test
