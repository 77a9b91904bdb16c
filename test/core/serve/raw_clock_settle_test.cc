// Guards against: a caller that was stopped while it settled from when, or until when, a line
// serves, and that settles it for a later line in the same slot.
#include <functional>

#include "test/core/serve/raw_caller.h"
#include "test/core/serve/raw_clock_probe.h"
#include "test/support/catch.h"

using namespace vvarclock;
using serve::RawClockProbe;

TEST_CASE("who settles a line's start late does not settle that of the next line in its place") {
  test::Random random;
  CAPTURE(random.seed());
  test::RawCaller caller(test::RawKernelConfig{}, random);
  std::uint64_t published = 0;
  const std::function<void()> usual = caller.kernel.hook;
  // A caller has read the page to say from when the new line serves, and is stopped. Another
  // thread publishes two more; the second stands where the first did.
  caller.kernel.hook = [&] {
    usual();
    if (published == 0 && RawClockProbe::awaits_start(*caller.clock)) {
      const std::size_t place = RawClockProbe::place(*caller.clock);
      caller.kernel.pass(10'000'000);
      published = caller.kernel.now();
      for (int line = 0; line < 2; ++line) {
        RawClockProbe::retire(*caller.clock);
        RawClockProbe::publish_again(*caller.clock, published);
      }
      REQUIRE(RawClockProbe::place(*caller.clock) == place);
    }
  };
  for (int i = 0; i < 400'000 && published == 0; ++i) {
    caller.call();
    caller.kernel.pass(10'000);
  }
  REQUIRE(published != 0);
  CHECK(RawClockProbe::start(*caller.clock) >= published + RawClockProbe::gate(*caller.clock));
  INFO(caller.complaint());
  CHECK(caller.is_right());
}

TEST_CASE("who settles a line's end late does not settle that of the next line in its place") {
  test::Random random;
  CAPTURE(random.seed());
  test::RawCaller caller(test::RawKernelConfig{}, random);
  for (int i = 0; i < 400'000 && caller.served == 0; ++i) {
    caller.call();
    caller.kernel.pass(10'000);
  }
  REQUIRE(caller.served != 0);
  std::uint64_t published = 0;
  // As above, but the line has been retired, and so is the one that comes in its place.
  caller.kernel.hook = [&] {
    if (published == 0 && RawClockProbe::awaits_end(*caller.clock)) {
      const std::size_t place = RawClockProbe::place(*caller.clock);
      caller.kernel.pass(10'000'000);
      published = caller.kernel.now();
      for (int line = 0; line < 2; ++line) {
        RawClockProbe::publish_again(*caller.clock, published);
        RawClockProbe::retire(*caller.clock);
      }
      REQUIRE(RawClockProbe::place(*caller.clock) == place);
    }
  };
  caller.kernel.step_clock();
  caller.call();
  REQUIRE(published != 0);
  // Nobody knows from when it served, so it may have served until it was due.
  CHECK(RawClockProbe::end(*caller.clock) == RawClockProbe::due(*caller.clock));
}
