// Guards against: a clock mode number that is not the kernel's.
//
// Reference: enum vdso_clock_mode (include/vdso/clocksource.h) as the master table of layouts has
// it, written down again.
#include "arch/x86/clock_mode.h"

#include <limits>
#include <string>

#include "test/support/catch.h"

namespace vvarclock::arch {
namespace {

TEST_CASE("clock modes have the kernel's numbers and names", "[arch]") {
  CHECK(std::string(clock_mode_name(0)) == "none");
  CHECK(std::string(clock_mode_name(1)) == "tsc");
  CHECK(std::string(clock_mode_name(2)) == "pvclock");
  CHECK(std::string(clock_mode_name(3)) == "hvclock");
  CHECK(std::string(clock_mode_name(2147483647)) == "timens");
  CHECK(std::string(clock_mode_name(-1)) == "timens");
  CHECK(kModeNone == 0);
  CHECK(kModeTsc == 1);
  CHECK(kModePvclock == 2);
  CHECK(kModeHvclock == 3);
}

TEST_CASE("other numbers are unknown, not guessed", "[arch]") {
  for (const ClockMode mode :
       {4, 5, 15, 16, -2, 2147483646, std::numeric_limits<ClockMode>::min()}) {
    CAPTURE(mode);
    CHECK(std::string(clock_mode_name(mode)) == "unknown");
    CHECK_FALSE(is_timens(mode));
  }
}

TEST_CASE("the numbers of old generations have today's names", "[arch]") {
  CHECK(todays_mode(0, kModesUntil46) == kModeNone);
  CHECK(todays_mode(1, kModesUntil46) == kModeTsc);
  CHECK(std::string(clock_mode_name(todays_mode(2, kModesUntil46))) == "hpet");
  CHECK(todays_mode(3, kModesUntil46) == kModePvclock);
  CHECK(std::string(clock_mode_name(todays_mode(4, kModesUntil46))) == "unknown");
  for (const ClockMode mode : {0, 1, 2, 3, 4, -1, 2147483647}) {
    CHECK(todays_mode(mode, kModesSince412) == mode);
  }
}

TEST_CASE("every generation has its own numbers for today's modes", "[arch]") {
  CHECK(own_mode(kModeTsc, kModesUntil46) == 1);
  CHECK(own_mode(kModePvclock, kModesUntil46) == 3);
  CHECK(own_mode(kModeHvclock, kModesUntil46) == kNoMode);
  for (const ClockMode mode : {0, 1, 2, 3}) {
    CHECK(own_mode(mode, kModesSince412) == mode);
  }
}

TEST_CASE("only the two marks mark a time namespace", "[arch]") {
  CHECK(is_timens(2147483647));
  CHECK(is_timens(-1));
  for (const ClockMode mode : {kModeNone, kModeTsc, kModePvclock, kModeHvclock}) {
    CAPTURE(mode);
    CHECK_FALSE(is_timens(mode));
  }
}

}  // namespace
}  // namespace vvarclock::arch
