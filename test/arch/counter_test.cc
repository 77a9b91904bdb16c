// Guards against: a contract that lets in a counter which throws, needs an object or counts in
// another type; a zeroed result that looks like a value.
#include "arch/counter.h"

#include "test/support/catch.h"

namespace vvarclock::arch {
namespace {

struct Good {
  static std::uint64_t read() noexcept { return 1; }
};
struct Throws {
  static std::uint64_t read() { return 1; }
};
struct Narrow {
  static std::uint32_t read() noexcept { return 1; }
};
struct Silent {};

TEST_CASE("the counter contract takes static 64-bit readers that do not throw, and nothing else",
          "[arch]") {
  STATIC_REQUIRE(Counter<Good>);
  STATIC_REQUIRE_FALSE(Counter<Throws>);
  STATIC_REQUIRE_FALSE(Counter<Narrow>);
  STATIC_REQUIRE_FALSE(Counter<Silent>);
}

TEST_CASE("invalid cycles send the caller to the kernel", "[arch]") {
  STATIC_REQUIRE(kInvalidCycles.attempt == Attempt::kUnavailable);
}

}  // namespace
}  // namespace vvarclock::arch
