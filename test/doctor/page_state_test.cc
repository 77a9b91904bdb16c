// Guards the rates that the pages imply, and that no page is touched which cannot be read.
#include "doctor/page_state.h"

#include <array>
#include <cstring>

#include "doctor/examination.h"
#include "doctor/json.h"
#include "test/support/catch.h"

namespace vvarclock::doctor {
namespace {

bool nothing_readable(const std::byte*) noexcept { return false; }

TEST_CASE("the counter's rate from each kind of scale") {
  CHECK(tsc_hz_of_mult(4194304, 23) == 2'000'000'000);
  CHECK(tsc_hz_of_mult(8388608, 23) == 1'000'000'000);
  CHECK(tsc_hz_of_pvclock(0x80000000U, 0) == 2'000'000'000);
  CHECK(tsc_hz_of_pvclock(0x80000000U, -1) == 4'000'000'000);
  CHECK(tsc_hz_of_pvclock(0x80000000U, 1) == 1'000'000'000);
  CHECK(tsc_hz_of_hvclock(std::uint64_t{1} << 56) == 2'560'000'000);
}

TEST_CASE("a scale of nothing implies no rate") {
  CHECK(tsc_hz_of_mult(0, 23) == 0);
  CHECK(tsc_hz_of_pvclock(0, 0) == 0);
  CHECK(tsc_hz_of_pvclock(1, -128) == 0);
  CHECK(tsc_hz_of_hvclock(0) == 0);
}

TEST_CASE("a page that cannot be read has no values") {
  static std::array<std::byte, 0x7000> memory{};  // pages from -0x6000 on, then the image
  discover::Discovery found;
  CHECK(look_at_pages(found, &nothing_readable).empty());
  found.outcome = discover::Outcome::kBound;
  found.layout = &vvar::kLayouts[0];
  found.binding.data = memory.data();
  found.image.bytes = {memory.data() + 0x6000, 0x1000};
  const std::vector<Page> pages = look_at_pages(found, &nothing_readable);
  REQUIRE(pages.size() == 4);
  for (const Page& page : pages) {
    CHECK_FALSE(page.readable);
    CHECK(page.values.empty());
  }
}

TEST_CASE("the exit status counts who serves") {
  const Clock reader{"a", true, ""};
  const Clock kernel{"b", false, "why"};
  CHECK(exit_status({reader, reader}) == 0);
  CHECK(exit_status({reader, kernel}) == 1);
  CHECK(exit_status({kernel, kernel}) == 2);
  CHECK(exit_status({}) == 2);
}

TEST_CASE("JSON has its commas and quotes in the right places") {
  Json out;
  out.open('{')
      .key("a")
      .number(std::int64_t{1})
      .key("b")
      .open('[')
      .string("x\"\\\n")
      .number(2.5)
      .close(']');
  out.key("c").open('{').close('}').key("d").null().raw(R"("e": true)").close('}');
  CHECK(out.text() == R"({"a": 1, "b": ["x\"\\?", 2.50], "c": {}, "d": null, "e": true})");
}

}  // namespace
}  // namespace vvarclock::doctor
