// One thing at a time is wrong with a page that is otherwise good, and the probe must name exactly
// that.
//
// Guards: an invariant that nobody tests is one that any page passes. Every ProbeTest has its case
// here.
#include "core/discover/invariants.h"

#include <cstdint>
#include <set>
#include <string>

#include "test/core/discover/page_faults.h"
#include "test/core/discover/probe_kernel.h"
#include "test/support/catch.h"

namespace vvarclock::test {
namespace {

using discover::CodeHints;
using discover::ProbeTest;
using vvar::BlockLayout;

using Page = FakeKernel::Page;
using K = ProbeKernel;

template <class F>
void for_every_fault(F f) {
  for (const auto* faults : {&faults_of_bytes(), &faults_of_scale(), &faults_of_bases()}) {
    for (const Fault& fault : *faults) {
      f(fault);
    }
  }
}

// Mid-tick and standing: the page stays as the fault left it.
FakeSetup quiet(arch::ClockMode mode) { return {.mode = mode}; }

discover::Refusal probe_with_fault(const Fault& fault, const vvar::Layout& layout) {
  ProbeKernel kernel(layout, quiet(fault.mode));
  kernel.advance_ns(1'000'000);
  REQUIRE(verdict(kernel.probe(layout, hints_of(layout))) == verdict(ProbeTest::kPassed));
  fault.make(kernel, vvar::block_layout(layout.block));
  return kernel.probe(layout, hints_of(layout));
}

}  // namespace

TEST_CASE("one wrong thing is refused by its own name, in every layout", "[invariants]") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    for_every_fault([&](const Fault& fault) {
      if (!fault.concerns(layout)) {
        return;
      }
      CAPTURE(layout.name, fault.what);
      const discover::Refusal refusal = probe_with_fault(fault, layout);
      CHECK(verdict(refusal) == verdict(fault.expected));
      CHECK(refusal.layout == &layout);
    });
  }
}

TEST_CASE("max_cycles must follow from the raw mult to the last unit", "[invariants]") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    const BlockLayout& b = vvar::block_layout(layout.block);
    if (b.max_cycles == 0) {
      continue;
    }
    CAPTURE(layout.name);
    for (const std::int64_t off : {-1, 1}) {
      ProbeKernel kernel(layout, quiet(arch::kModeTsc));
      add_to_both_blocks(kernel, b, b.max_cycles, off);
      CHECK(verdict(kernel.probe(layout, {})) == verdict(ProbeTest::kMaxCycles));
    }
    ProbeKernel kernel(layout, quiet(arch::kModeTsc));
    add(kernel, b.stride + b.max_cycles, 1);
    CHECK(verdict(kernel.probe(layout, {})) == verdict(ProbeTest::kBlocksDisagree));
  }
}

TEST_CASE("a namespace page must be one, with a readable real page behind it", "[invariants]") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    if (layout.timens == vvar::kNoPage) {
      continue;
    }
    CAPTURE(layout.name);
    const BlockLayout& b = vvar::block_layout(layout.block);
    const auto probe_after = [&](auto fault) {
      ProbeKernel kernel(layout, quiet(arch::kModeTsc));
      kernel.enter_timens({.monotonic = {5, 6}, .boottime = {7, 8}});
      fault(kernel, kernel.writable(Page::kTimens));
      return verdict(kernel.probe(layout, hints_of(layout)));
    };
    const std::string not_a_page = verdict(ProbeTest::kTimensPage);
    CHECK(probe_after([](K&, std::byte*) {}) == verdict(ProbeTest::kPassed));
    CHECK(probe_after([](K& k, std::byte*) { k.withdraw(Page::kTimens); }) ==
          verdict(ProbeTest::kTimensUnreadable));
    CHECK(probe_after([&](K&, std::byte* at) { store<std::uint32_t>(at, b.mult, 1); }) ==
          not_a_page);
    CHECK(probe_after([&](K&, std::byte* at) { store<std::uint32_t>(at, b.shift, 1); }) ==
          not_a_page);
    CHECK(probe_after([&](K&, std::byte* at) {
            store<std::uint64_t>(at, b.stride + b.cycle_last, 1);
          }) == not_a_page);
    CHECK(probe_after([&](K&, std::byte* at) { store<std::uint64_t>(at, b.nsec(7), kSecond); }) ==
          not_a_page);
    CHECK(probe_after([&](K&, std::byte* at) { store<std::uint32_t>(at, b.stride + 4U, 1); }) ==
          not_a_page);
    // Offsets that the kernel does not use are not the kernel's time.
    CHECK(probe_after([&](K&, std::byte* at) { store<std::uint64_t>(at, b.sec(7), 9); }) ==
          verdict(ProbeTest::kAgreement));
    CHECK(probe_after([&](K&, std::byte* at) { store<std::uint64_t>(at, b.sec(4), 9); }) ==
          verdict(ProbeTest::kAgreement));
    // The real page behind is looked at as closely as any other.
    CHECK(probe_after([&](K& k, std::byte*) { k.patch_u64(b.sec(2), 1); }) ==
          verdict(ProbeTest::kZeroSlots));
  }
}

TEST_CASE("the code's hints are each taken at their word", "[invariants]") {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    CAPTURE(layout.name);
    ProbeKernel kernel(layout, quiet(arch::kModeTsc));
    const CodeHints good = hints_of(layout);
    CodeHints wrong = good;
    wrong.data -= 0x1000;
    CHECK(verdict(kernel.probe(layout, wrong)) == verdict(ProbeTest::kCodeData));
    wrong = good;
    wrong.stride = 0xe0;
    CHECK(verdict(kernel.probe(layout, wrong)) == verdict(ProbeTest::kCodeStride));
    wrong = good;
    wrong.highest_id = static_cast<std::uint8_t>(good.highest_id == 15 ? 23 : 15);
    CHECK(verdict(kernel.probe(layout, wrong)) == verdict(ProbeTest::kCodeIds));
    wrong = good;
    wrong.hpet = !good.hpet;
    CHECK(verdict(kernel.probe(layout, wrong)) == verdict(ProbeTest::kCodeDevice));
    wrong = good;
    wrong.anchor =
        good.anchor == vvar::Anchor::kImage ? vvar::Anchor::kAbsolute : vvar::Anchor::kImage;
    CHECK(verdict(kernel.probe(layout, wrong)) == verdict(ProbeTest::kCodeData));
  }
}

TEST_CASE("every test has its own words", "[invariants]") {
  std::set<std::string> words;
  for (int test = 0; test <= static_cast<int>(ProbeTest::kAgreement); ++test) {
    const std::string text = discover::describe(static_cast<ProbeTest>(test));
    CHECK(text.size() > 5);
    CHECK(words.insert(text).second);
  }
}

}  // namespace vvarclock::test
