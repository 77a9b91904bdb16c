// Guards the rates that the pages imply, and that no page is touched which cannot be read.
#include "doctor/page_state.h"

#include <array>
#include <cstring>
#include <string>

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
  found.binding.timens_data = memory.data() + 0x1000;
  found.binding.counters = {memory.data() + 0x4000, memory.data() + 0x5000};
  found.image.bytes = {memory.data() + 0x6000, 0x1000};
  const std::vector<Page> pages = look_at_pages(found, &nothing_readable);
  REQUIRE(pages.size() == 4);
  for (const Page& page : pages) {
    CHECK_FALSE(page.readable);
    CHECK(page.values.empty());
  }
  CHECK(head_of_data(found, &nothing_readable).empty());
}

std::int64_t value_of(const Page& page, const std::string& key) {
  for (const PageValue& value : page.values) {
    if (key == value.key) {
      return value.number;
    }
  }
  return -1;
}

bool all_readable(const std::byte*) noexcept { return true; }

TEST_CASE("an old page: wherever it is, with its mode where that is, and nothing beside it") {
  static std::array<std::byte, 0x4000> memory{};  // the image, then the data: kernel 3.10's block
  discover::Discovery found;
  found.outcome = discover::Outcome::kBound;
  found.layout = &vvar::kLayouts[13];
  found.image.bytes = {memory.data(), 0x1000};
  found.binding.data = memory.data() + 0x1080;
  const auto put = [](std::size_t offset, std::uint32_t value) {
    std::memcpy(memory.data() + 0x1080 + offset, &value, sizeof(value));
  };
  put(0, 6);
  put(8, 1);
  put(32, 4194304);
  put(36, 23);
  const std::vector<Page> pages = look_at_pages(found, &all_readable);
  REQUIRE(pages.size() == 1);
  CHECK(pages[0].from_vdso == 0x1080);
  CHECK(value_of(pages[0], "seq") == 6);
  CHECK(value_of(pages[0], "clock_mode") == 1);
  CHECK(value_of(pages[0], "mult") == 4194304);
  CHECK(value_of(pages[0], "raw_mult") == -1);
  CHECK(value_of(pages[0], "tsc_hz") == 2'000'000'000);
}

TEST_CASE("the head of a page that nobody believes is where the code has it") {
  static std::array<std::byte, 0x4000> memory{};
  memory[0x80] = std::byte{0xab};
  memory[0x2080 + 511] = std::byte{0xcd};
  discover::Discovery found;
  found.outcome = discover::Outcome::kNoLayout;
  found.image.bytes = {memory.data() + 0x1000, 0x800};
  CHECK(head_of_data(found, &all_readable).empty());
  found.hints.data = -0xf80;
  const std::vector<std::byte> before = head_of_data(found, &all_readable);
  REQUIRE(before.size() == 512);
  CHECK(before.front() == std::byte{0xab});
  found.hints.anchor = vvar::Anchor::kImageEnd;
  found.hints.data = 0x80;
  const std::vector<std::byte> behind = head_of_data(found, &all_readable);
  REQUIRE(behind.size() == 512);
  CHECK(behind.back() == std::byte{0xcd});
}

TEST_CASE("the exit status counts who serves") {
  const Clock reader{"a", "reader", ""};
  const Clock line{"a", "line", "how"};
  const Clock kernel{"b", "syscall", "why"};
  CHECK(exit_status({reader, line}) == 0);
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
