// Guards against: an id that is served although it is the kernel's, an id in two families, a name
// of another clock.
//
// Reference: the numbers of libc's <time.h>, which are the kernel's ABI.
#include "core/vvar/clock_id.h"

#include <time.h>

#include <limits>
#include <map>
#include <string>

#include "test/support/catch.h"

namespace vvarclock::vvar {
namespace {

const std::map<clockid_t, std::string> kNames{
    {CLOCK_REALTIME, "CLOCK_REALTIME"},
    {CLOCK_MONOTONIC, "CLOCK_MONOTONIC"},
    {CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW"},
    {CLOCK_REALTIME_COARSE, "CLOCK_REALTIME_COARSE"},
    {CLOCK_MONOTONIC_COARSE, "CLOCK_MONOTONIC_COARSE"},
    {CLOCK_BOOTTIME, "CLOCK_BOOTTIME"},
    {CLOCK_TAI, "CLOCK_TAI"},
};

TEST_CASE("families hold exactly their ids", "[vvar]") {
  for (clockid_t id = -4096; id <= 4096; ++id) {
    const auto ours = static_cast<ClockId>(id);
    const bool hres =
        id == CLOCK_REALTIME || id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME || id == CLOCK_TAI;
    const bool coarse = id == CLOCK_REALTIME_COARSE || id == CLOCK_MONOTONIC_COARSE;
    const bool raw = id == CLOCK_MONOTONIC_RAW;
    if (is_in(ours, kHresIds) != hres || is_in(ours, kCoarseIds) != coarse ||
        is_in(ours, kRawIds) != raw || is_in(ours, kServedIds) != (hres || coarse || raw)) {
      CAPTURE(id);
      CHECK(is_in(ours, kHresIds) == hres);
      CHECK(is_in(ours, kCoarseIds) == coarse);
      CHECK(is_in(ours, kRawIds) == raw);
      REQUIRE(is_in(ours, kServedIds) == (hres || coarse || raw));
    }
  }
}

TEST_CASE("the extremes of an int belong to no family", "[vvar]") {
  for (const clockid_t id : {std::numeric_limits<clockid_t>::min(),
                             std::numeric_limits<clockid_t>::max(), -1, 31, 32, 33}) {
    CAPTURE(id);
    CHECK_FALSE(is_in(static_cast<ClockId>(id), kServedIds));
  }
}

TEST_CASE("the list of served clocks is the served ids, once each, by their names", "[vvar]") {
  std::uint32_t listed = 0;
  for (const NamedClock& clock : kServedClocks) {
    CAPTURE(clock.id);
    CHECK((listed & bit(clock.id)) == 0);
    listed |= bit(clock.id);
    CHECK(clock.id < kBasetimeSlots);
    const auto name = kNames.find(static_cast<clockid_t>(clock.id));
    REQUIRE(name != kNames.end());
    CHECK(name->second == clock.name);
  }
  CHECK(listed == kServedIds);
}

}  // namespace
}  // namespace vvarclock::vvar
