// Guards the bound that the doctor states: it must come from a line that really serves.
#include "doctor/raw_line.h"

#include "doctor/examination.h"
#include "test/support/catch.h"
#include "test/support/mirrored_page.h"

namespace vvarclock::doctor {
namespace {

constexpr const vvar::Layout& k420 = vvar::kLayouts[6];

TEST_CASE("a page that has the raw clock needs no line") {
  discover::Discovery found;
  found.layout = &vvar::kLayouts[0];
  CHECK_FALSE(find_raw_line(found, {}).has_value());
}

TEST_CASE("on an old page the doctor finds the line and states its bound") {
  const discover::Discovery live = discover::discover(
      discover::host_kernel(true), discover::vdso_address(), discover::kAttachEffort);
  if (const char* const why = test::why_no_raw_line(live)) {
    WARN("skipped: " << why);
    return;
  }
  const test::MirroredPage page(live.binding, vvar::block_layout(live.layout->block),
                                vvar::block_layout(k420.block));
  discover::Discovery found;
  found.outcome = discover::Outcome::kBound;
  found.layout = &k420;
  found.binding = page.binding();
  const auto line = find_raw_line(found, serve::page_readers(k420.block, {}));
  REQUIRE(line.has_value());
  CHECK(line->state == serve::RawState::kServing);
  CHECK(line->bound > 0);
  CHECK(line->samples >= vvar::RawFit::kSamplesToServe);
  const serve::RawClockStatus now = serve::raw_clock.status();
  CHECK(now.bound <= now.largest_bound);
}

TEST_CASE("the bound is stated for a line that serves, and for no other") {
  serve::RawClockStatus line;
  line.state = serve::RawState::kServing;
  line.mult = 5592405;
  line.shift = 24;
  line.knows_kind = true;
  line.bound = 77;
  line.recheck = 250'000'000;
  line.samples = 40;
  CHECK(describe(line) ==
        "raw clock by a line in the counter: serving, never further than 77 ns from the kernel's; "
        "mult 5592405, shift 24, ticks exact\n"
        "  learnt from 40 system calls, checked by another every 250 ms, contradicted 0 times\n");
  line.rounds = true;
  CHECK(describe(line).find("ticks rounded") != std::string::npos);
  line.knows_kind = false;
  CHECK(describe(line).find("ticks exact or rounded") != std::string::npos);
  line.state = serve::RawState::kSampling;
  CHECK(describe(line) ==
        "raw clock by a line in the counter: sampling\n"
        "  learnt from 40 system calls, checked by another every 250 ms, contradicted 0 times\n");
}

}  // namespace
}  // namespace vvarclock::doctor
