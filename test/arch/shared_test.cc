// Guards against: a shared number that comes back as another one, or one that is larger than what
// it holds, so that a reader touches more lines than it should.
//
// A build for 32-bit machines tests the form in halves.
#include "arch/shared.h"

#include <atomic>
#include <thread>

#include "test/support/catch.h"
#include "test/support/random.h"

namespace vvarclock::arch {
namespace {

static_assert(sizeof(Shared<std::uint32_t>) == 4 && sizeof(Shared<std::int32_t>) == 4);
static_assert(sizeof(Shared<std::uint64_t>) == 8 && sizeof(Shared<std::int64_t>) == 8);

template <class T>
void check(std::uint64_t bits) {
  const auto value = static_cast<T>(bits);
  Shared<T> shared;
  CHECK(shared == T{0});
  shared = value;
  REQUIRE(shared == value);
}

TEST_CASE("a shared number is the one that was written", "[arch]") {
  test::Random random;
  CAPTURE(random.seed());
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t bits = random.edgy_u64();
    check<std::uint32_t>(bits);
    check<std::int32_t>(bits);
    check<std::uint64_t>(bits);
    check<std::int64_t>(bits);
  }
}

TEST_CASE("each half of a shared number is a half that somebody wrote", "[arch]") {
  Shared<std::uint64_t> shared;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t n = 0; !stop.load(); ++n) {
      shared = (n % 1000) * 0x1'0000'0001;
    }
  });
  std::uint64_t strange = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint64_t seen = shared;
    strange += (seen >> 32) >= 1000 || (seen & 0xffffffff) >= 1000 ? 1U : 0U;
    strange += sizeof(void*) == 8 && (seen >> 32) != (seen & 0xffffffff) ? 1U : 0U;
  }
  stop.store(true);
  writer.join();
  CHECK(strange == 0);
}

}  // namespace
}  // namespace vvarclock::arch
