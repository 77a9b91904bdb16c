// Guards against: time(), the time zone and the resolutions read from the page of a namespace's
// offsets, or from the wrong place in the tail; a counter or a sequence section where none is
// needed.
//
// Reference: all three come from the real page's block 0 and tail (lib/vdso/gettimeofday.c); RAW's
// resolution is the high-resolution one, a coarse clock's is one tick.
#include "core/vvar/read_clock.h"

#include "test/core/vvar/pages.h"
#include "test/support/catch.h"

namespace vvarclock::vvar {
namespace {

using test::KindV;

struct Pages {
  test::Page<KindV> data;
  test::Page<KindV> real;
  Binding binding;

  explicit Pages(const Layout& layout) {
    binding.data = data.data();
    binding.timezone = layout.timezone;
    binding.hrtimer_res = layout.hrtimer_res;
    binding.coarse_resolution = 4'000'000;
  }

  static void write(const test::PageWriter& page, const Layout& layout) {
    test::write_page_at_rest(page, 8, 1'764'000'000);
    page.put<std::int32_t>(layout.timezone, -120);
    page.put<std::int32_t>(layout.timezone + 4U, 3);
    page.put<std::uint32_t>(layout.hrtimer_res, 1);
  }

  void enter_namespace(const Layout& layout) {
    write(real.write, layout);
    data.write.timens(0x7fffffff, 5, 6, 7, 8);
    binding.timens_data = real.data();
  }
};

void check_all(const Binding& binding) {
  std::uint64_t sec = 0;
  REQUIRE(read_time<kBlockV>(binding, sec));
  CHECK(sec == 1'764'000'000);
  Timezone zone{};
  REQUIRE(read_timezone<kBlockV>(binding, zone));
  CHECK(zone.minutes_west == -120);
  CHECK(zone.dst_type == 3);
  for (const NamedClock& clock : kServedClocks) {
    CAPTURE(clock.name);
    std::uint32_t ns = 0;
    REQUIRE(read_resolution<kBlockV>(binding, clock.id, ns));
    CHECK(ns == (is_in(clock.id, kCoarseIds) ? 4'000'000 : 1));
  }
}

TEST_CASE("time, time zone and resolutions come from the page, in and out of a namespace",
          "[vvar]") {
  for (const Layout& layout : {kLayouts[0], kLayouts[1]}) {
    CAPTURE(layout.name);
    Pages pages(layout);
    Pages::write(pages.data.write, layout);
    check_all(pages.binding);
    pages.enter_namespace(layout);
    check_all(pages.binding);
  }
}

TEST_CASE("they do not wait for a writer", "[vvar]") {
  Pages pages(kLayouts[0]);
  Pages::write(pages.data.write, kLayouts[0]);
  pages.data.write.seq(9);
  check_all(pages.binding);
  pages.data.write.seq(1);  // odd and 1, but without the mark
  check_all(pages.binding);
}

TEST_CASE("they hold in mode none", "[vvar]") {
  Pages pages(kLayouts[0]);
  Pages::write(pages.data.write, kLayouts[0]);
  pages.data.write.mode(0);
  check_all(pages.binding);
}

TEST_CASE("a namespace without its real page is the kernel's, but for the tick", "[vvar]") {
  Pages pages(kLayouts[0]);
  pages.enter_namespace(kLayouts[0]);
  pages.binding.timens_data = nullptr;
  std::uint64_t sec = 77;
  Timezone zone{7, 7};
  std::uint32_t ns = 77;
  CHECK_FALSE(read_time<kBlockV>(pages.binding, sec));
  CHECK_FALSE(read_timezone<kBlockV>(pages.binding, zone));
  CHECK_FALSE(read_resolution<kBlockV>(pages.binding, kMonotonic, ns));
  CHECK_FALSE(read_resolution<kBlockV>(pages.binding, kMonotonicRaw, ns));
  CHECK(sec == 77);
  CHECK(zone.minutes_west == 7);
  CHECK(ns == 77);
  CHECK(read_resolution<kBlockV>(pages.binding, kRealtimeCoarse, ns));
  CHECK(ns == 4'000'000);
}

TEST_CASE("other ids have no resolution here", "[vvar]") {
  Pages pages(kLayouts[0]);
  Pages::write(pages.data.write, kLayouts[0]);
  for (const int id : {-1, 2, 3, 8, 9, 10, 12, 16, 31, 32, 33, 2147483647, -2147483647 - 1}) {
    CAPTURE(id);
    std::uint32_t ns = 77;
    CHECK_FALSE(read_resolution<kBlockV>(pages.binding, static_cast<ClockId>(id), ns));
    CHECK(ns == 77);
  }
}

}  // namespace
}  // namespace vvarclock::vvar
