// The probe against whole simulated kernels: a page is believed by its own layout and by no other,
// in every clock mode, with and without the code's hints, in and out of a time namespace; and where
// a counter's page is missing or dead, it ends.
//
// Guards: a wrong layout that happens to fit. What each single invariant refuses is in
// invariants_test.cc.
#include "core/discover/layout_probe.h"

#include <array>
#include <cstdint>
#include <string>

#include "test/core/discover/probe_kernel.h"
#include "test/support/catch.h"

namespace vvarclock::test {
namespace {

using discover::CodeHints;
using discover::ProbeTest;
using vvar::Layout;

constexpr std::array<arch::ClockMode, 4> kModes{arch::kModeNone, arch::kModeTsc, arch::kModePvclock,
                                                arch::kModeHvclock};

bool same_binding(const vvar::Binding& a, const vvar::Binding& b) {
  return a.data == b.data && a.timens_data == b.timens_data &&
         a.counters.pvclock == b.counters.pvclock && a.counters.hvclock == b.counters.hvclock &&
         a.timezone == b.timezone && a.hrtimer_res == b.hrtimer_res &&
         a.coarse_resolution == b.coarse_resolution;
}

template <class F>
void for_every_kernel(F f) {
  for (const Layout& layout : vvar::kLayouts) {
    for (const arch::ClockMode mode : kModes) {
      if (!has_mode(layout, mode)) {
        continue;
      }
      for (const bool zero_timens_page : {false, true}) {
        CAPTURE(layout.name, arch::clock_mode_name(mode), zero_timens_page);
        ProbeKernel kernel(layout,
                           {.mode = mode, .zero_timens_page = zero_timens_page, .ticking = true});
        f(kernel, mode);
      }
    }
  }
}

// What may refuse a page of one row (the outer index) that is read as another (the inner one) when
// the code says nothing: one test, or one of several where chance decides, because the seq word
// falls on digits of a clock. Rows of kLayouts: 0 6.17-7.3, 1 6.15-6.16, 2 6.13-6.14, 3 6.10-6.12,
// 4 5.6-6.9, 5 5.3-5.5, 6 4.20-5.2, 7 4.12-4.19, 8 4.7-4.11, 9 4.5-4.6, 10 3.17-4.4, 11 3.16,
// 12 3.15, 13 3.10-3.14, 14 3.10 (OpenVZ); then those of 32-bit programs, 15 4.12-4.19,
// 16 4.7-4.11, 17 4.5-4.6, 18 3.17-4.4, 19 3.16, 20 and 21 3.15. From row 6 on, a row is never
// tried when the code says nothing.
using Tests = std::uint64_t;
constexpr Tests one(ProbeTest test) { return Tests{1} << static_cast<unsigned>(test); }

constexpr ProbeTest kOk = ProbeTest::kPassed;
constexpr Tests kOwn = one(kOk);
constexpr Tests kGone =
    one(ProbeTest::kDataUnreadable);  // nothing is mapped where the layout has its data
constexpr Tests kTail = one(ProbeTest::kResolution);          // the resolution is elsewhere
constexpr Tests kSlots = one(ProbeTest::kZeroSlots);          // bases are 8 bytes off
constexpr Tests kShifted = kSlots | one(ProbeTest::kSeqOdd);  // everything is 128 bytes off
constexpr Tests kVclock =
    kGone | one(ProbeTest::kCoarseRange);  // the data would be in the pvclock page
constexpr std::size_t kGeneric = 6;        // rows that may be tried on their bytes alone
constexpr std::array<std::array<Tests, kGeneric>, 22> kRefusals{{
    {kOwn, kTail, kGone, kGone, kGone, kGone},
    {kTail, kOwn, kGone, kGone, kGone, kGone},
    {kGone, kGone, kOwn, kShifted, kShifted, kGone},
    {kGone, kGone, kShifted, kOwn, kSlots, kVclock},
    {kGone, kGone, kShifted, kSlots, kOwn, kVclock},
    {kGone, kGone, kGone, kGone, kGone, kOwn},
    {kGone, kGone, kGone, kGone, kGone, kTail},
    {kGone, kGone, kGone, kGone, kGone, kSlots},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kSlots},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kSlots},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kSlots},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kGone},
    {kGone, kGone, kGone, kGone, kGone, kGone},
}};
// The page holds all that the other row reads, in the same places. Nothing but the code tells; what
// is read is right all the same.
bool holds_bytes_of(const Layout& page, const Layout& read_as) {
  return same_bytes(page, read_as) ||
         (read_as.block == vvar::BlockKind::kC && page.block == vvar::BlockKind::kD &&
          page.data == read_as.data);
}

static_assert(kRefusals.size() == vvar::kLayouts.size(),
              "a new row: say what tells it from every other");

}  // namespace

TEST_CASE("a page is believed by its own layout when the code confirms it, in every mode",
          "[layout_probe]") {
  for_every_kernel([](ProbeKernel& kernel, arch::ClockMode) {
    vvar::Binding binding;
    const auto refusal = kernel.probe(kernel.layout(), hints_of(kernel.layout()), &binding);
    CHECK(verdict(refusal) == verdict(kOk));
    CHECK(refusal.layout == &kernel.layout());
    CHECK(same_binding(binding, kernel.binding()));
  });
}

TEST_CASE(
    "without hints it is believed by its bytes, except in mode none, where they say too little, "
    "and "
    "before 5.3",
    "[layout_probe]") {
  for_every_kernel([](ProbeKernel& kernel, arch::ClockMode mode) {
    const bool silent = mode == arch::kModeNone || is_old(kernel.layout());
    const ProbeTest expected = silent ? ProbeTest::kCodeSilent : kOk;
    CHECK(verdict(kernel.probe(kernel.layout(), {})) == verdict(expected));
  });
}

TEST_CASE("any part of the hints may be missing while a counter is in use", "[layout_probe]") {
  for (const Layout& layout : vvar::kLayouts) {
    CAPTURE(layout.name);
    ProbeKernel kernel(layout, {.ticking = true});
    ProbeKernel::Hints hints = hints_of(layout);
    if (is_old(layout)) {
      continue;  // their neighbours are told apart by the code alone: see below
    }
    hints.stride = 0;
    CHECK(verdict(kernel.probe(layout, hints)) == verdict(kOk));
    hints.highest_id = 0;
    CHECK(verdict(kernel.probe(layout, hints)) == verdict(kOk));
    kernel.use_source(arch::kModeNone);
    CHECK(verdict(kernel.probe(layout, hints)) == verdict(ProbeTest::kCodeSilent));
  }
}

TEST_CASE("a page read as any other generation is refused by its bytes alone", "[layout_probe]") {
  for (std::size_t page = 0; page < vvar::kLayouts.size(); ++page) {
    for (const arch::ClockMode mode : kModes) {
      if (!has_mode(vvar::kLayouts[page], mode)) {
        continue;
      }
      ProbeKernel kernel(vvar::kLayouts[page], {.mode = mode, .ticking = true});
      kernel
          .tick();  // a seq of 2 is one more than the resolution of 1 ns, as if a writer were there
      for (std::size_t read_as = 0; read_as < vvar::kLayouts.size(); ++read_as) {
        if (read_as != page) {
          CAPTURE(vvar::kLayouts[page].name, arch::clock_mode_name(mode),
                  vvar::kLayouts[read_as].name);
          const ProbeTest found = kernel.probe(vvar::kLayouts[read_as], {}).test;
          CAPTURE(verdict(found));
          CHECK((one(found) & (read_as < kGeneric ? kRefusals[page][read_as]
                                                  : one(ProbeTest::kCodeSilent))) != 0);
        }
      }
    }
  }
}

TEST_CASE("a page read as any other generation is refused although the code seems to confirm",
          "[layout_probe]") {
  for_every_kernel([](ProbeKernel& kernel, arch::ClockMode) {
    for (const Layout& other : vvar::kLayouts) {
      if (&other != &kernel.layout() && !holds_bytes_of(kernel.layout(), other) &&
          !names_hpet_as_data(other, kernel.layout())) {
        CAPTURE(other.name);
        CHECK(verdict(kernel.probe(other, hints_of(other))) != verdict(kOk));
      }
    }
  });
}

TEST_CASE("pages given out since boot do not lead an older layout astray", "[layout_probe]") {
  for (const Layout& layout : vvar::kLayouts) {
    ProbeKernel kernel(layout, {.ticking = true});
    for (const arch::ClockMode mode : {arch::kModePvclock, arch::kModeHvclock, arch::kModeTsc}) {
      if (has_mode(layout, mode)) {
        kernel.use_source(mode);
      }
    }
    for (const Layout& other : vvar::kLayouts) {
      CAPTURE(layout.name, other.name);
      const ProbeTest found = kernel.probe(other, {}).test;
      CHECK((found == kOk) == (&other == &layout && !is_old(layout)));
    }
  }
}

TEST_CASE("a process that starts in a time namespace is served there", "[layout_probe]") {
  for_every_kernel([](ProbeKernel& kernel, arch::ClockMode) {
    if (kernel.layout().timens == vvar::kNoPage) {
      return;
    }
    kernel.enter_timens({.monotonic = {-900, 999'999'999}, .boottime = {1'000'000, 1}});
    vvar::Binding binding;
    CHECK(verdict(kernel.probe(kernel.layout(), hints_of(kernel.layout()), &binding)) ==
          verdict(kOk));
    CHECK(same_binding(binding, kernel.binding()));
    for (const Layout& other : vvar::kLayouts) {
      if (&other != &kernel.layout()) {
        CAPTURE(other.name);
        CHECK(verdict(kernel.probe(other, {})) != verdict(kOk));
      }
    }
  });
}

TEST_CASE("the mark of 5.6 is a mark too", "[layout_probe]") {
  const Layout& layout = vvar::kLayouts[4];
  ProbeKernel kernel(layout, {.ticking = true});
  kernel.enter_timens({.monotonic = {100, 5}, .boottime = {200, 6}});
  const std::uint16_t stride = vvar::block_layout(layout.block).stride;
  for (const std::size_t block : {std::size_t{0}, std::size_t{stride}}) {
    store<std::int32_t>(kernel.writable(FakeKernel::Page::kTimens), block + 4, -1);
  }
  CHECK(verdict(kernel.probe(layout, hints_of(layout))) == verdict(kOk));
}

TEST_CASE("a row that differs in the order of its pages alone is refused where that matters",
          "[layout_probe]") {
  for (const Layout& layout : {vvar::kLayouts.front(), vvar::kLayouts[4]}) {
    CAPTURE(layout.name);
    Layout swapped = layout;
    std::swap(swapped.pvclock, swapped.hvclock);
    for (const arch::ClockMode mode : {arch::kModePvclock, arch::kModeHvclock}) {
      CAPTURE(arch::clock_mode_name(mode));
      ProbeKernel kernel(layout, {.mode = mode, .ticking = true});
      CHECK(verdict(kernel.probe(swapped, {})) == verdict(ProbeTest::kCounterPage));
      // The other page has been in use as well: it can be read, but it is not what it is taken for.
      kernel.use_source(mode == arch::kModePvclock ? arch::kModeHvclock : arch::kModePvclock);
      kernel.use_source(mode);
      // Refused, or no clock that needs the counter is read through it.
      CAPTURE(verdict(kernel.probe(swapped, {})));
      CHECK((kernel.probe(swapped, {}).test == ProbeTest::kAgreement ||
             no_counter_clock_is_read(kernel, swapped)));
    }
    if (layout.timens != vvar::kNoPage) {
      Layout elsewhere = layout;
      elsewhere.timens += 0x1000;
      ProbeKernel kernel(layout, {.ticking = true});
      kernel.enter_timens({});
      CHECK(verdict(kernel.probe(elsewhere, {})) != verdict(kOk));
    }
  }
}

TEST_CASE("a dead hypervisor page ends in the system call, never in a hang or a fault",
          "[layout_probe]") {
  // A record that stays odd costs the reader its whole bound at every look, so not every row.
  for (const Layout& layout : {vvar::kLayouts.front(), vvar::kLayouts[5], vvar::kLayouts[7]}) {
    CAPTURE(layout.name);
    {
      ProbeKernel kernel(layout, {.mode = arch::kModePvclock, .ticking = true});
      kernel.hold_pvclock_odd();
      CHECK(no_counter_clock_is_read(kernel, layout));
      kernel.probe(layout, hints_of(layout));
      kernel.zero(FakeKernel::Page::kPvclock);
      CHECK(no_counter_clock_is_read(kernel, layout));
      kernel.probe(layout, hints_of(layout));
      kernel.withdraw(FakeKernel::Page::kPvclock);
      CHECK(verdict(kernel.probe(layout, hints_of(layout))) == verdict(ProbeTest::kCounterPage));
    }
    ProbeKernel kernel(layout, {.mode = arch::kModeHvclock, .ticking = true});
    kernel.zero(FakeKernel::Page::kHvclock);
    CHECK(no_counter_clock_is_read(kernel, layout));
    kernel.probe(layout, hints_of(layout));
    kernel.withdraw(FakeKernel::Page::kHvclock);
    CHECK(verdict(kernel.probe(layout, hints_of(layout))) == verdict(ProbeTest::kCounterPage));
  }
}

TEST_CASE("a refusal leaves the binding alone", "[layout_probe]") {
  ProbeKernel kernel(vvar::kLayouts[0], {.ticking = true});
  vvar::Binding binding;
  kernel.probe(vvar::kLayouts[1], {}, &binding);
  CHECK(same_binding(binding, vvar::Binding{}));
}

}  // namespace vvarclock::test
