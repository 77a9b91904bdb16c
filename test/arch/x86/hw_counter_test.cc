// Guards against: a hypervisor page that is touched although the mode does not name it (a bus error
// in a real process), a null page that is followed, an unknown mode that is guessed, a forbidden
// counter that is read.
//
// Pages that must not be touched are pages without access here: a touch ends the test with a fault.
#include "arch/x86/hw_counter.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <limits>

#include "test/support/catch.h"
#include "test/support/scripted_counter.h"

namespace vvarclock::arch {
namespace {

using test::ScriptedCounter;

class ClosedPage {
 public:
  ClosedPage() : page_(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(page_ != MAP_FAILED);
  }
  ~ClosedPage() { munmap(page_, 4096); }
  ClosedPage(const ClosedPage&) = delete;
  ClosedPage& operator=(const ClosedPage&) = delete;
  [[nodiscard]] const std::byte* data() const { return static_cast<const std::byte*>(page_); }

 private:
  void* page_;
};

template <class T>
void put(std::byte* page, std::size_t offset, T value) {
  std::memcpy(page + offset, &value, sizeof(value));
}

TEST_CASE("mode tsc is the counter itself and touches no page", "[arch]") {
  const ClosedPage closed;
  ScriptedCounter::always(12345);
  const Cycles cycles = read_hw_counter<ScriptedCounter>(1, {closed.data(), closed.data()});
  CHECK(cycles.attempt == Attempt::kDone);
  CHECK(cycles.value == 12345);
  CHECK(ScriptedCounter::reads() == 1);
}

TEST_CASE("mode pvclock reads the pvclock record and no other page", "[arch]") {
  const ClosedPage closed;
  alignas(64) std::array<std::byte, 64> record{};
  put<std::uint64_t>(record.data(), 16, 900);
  put<std::uint32_t>(record.data(), 24, 1U << 31);
  put<std::uint8_t>(record.data(), 29, 1);
  ScriptedCounter::always(200);
  const Cycles cycles = read_hw_counter<ScriptedCounter>(2, {record.data(), closed.data()});
  CHECK(cycles.attempt == Attempt::kDone);
  CHECK(cycles.value == 1000);
}

TEST_CASE("mode hvclock reads the Hyper-V page and no other page", "[arch]") {
  const ClosedPage closed;
  alignas(64) std::array<std::byte, 64> page{};
  put<std::uint32_t>(page.data(), 0, 1);
  put<std::uint64_t>(page.data(), 8, std::uint64_t{1} << 63);
  put<std::uint64_t>(page.data(), 16, 900);
  ScriptedCounter::always(200);
  const Cycles cycles = read_hw_counter<ScriptedCounter>(3, {closed.data(), page.data()});
  CHECK(cycles.attempt == Attempt::kDone);
  CHECK(cycles.value == 1000);
}

TEST_CASE("what a page reports comes out unchanged", "[arch]") {
  alignas(64) std::array<std::byte, 64> page{};
  ScriptedCounter::always(200);
  const CounterPages pages{page.data(), page.data()};
  CHECK(read_hw_counter<ScriptedCounter>(2, pages).attempt == Attempt::kUnavailable);
  CHECK(read_hw_counter<ScriptedCounter>(3, pages).attempt == Attempt::kUnavailable);
  put<std::uint32_t>(page.data(), 0, 1);
  CHECK(read_hw_counter<ScriptedCounter>(2, pages).attempt == Attempt::kBusy);
}

TEST_CASE("a mode whose page is missing is the kernel's", "[arch]") {
  const ClosedPage closed;
  ScriptedCounter::always(1);
  CHECK(read_hw_counter<ScriptedCounter>(2, {nullptr, closed.data()}).attempt ==
        Attempt::kUnavailable);
  CHECK(read_hw_counter<ScriptedCounter>(3, {closed.data(), nullptr}).attempt ==
        Attempt::kUnavailable);
  CHECK(read_hw_counter<ScriptedCounter>(1, {nullptr, nullptr}).attempt == Attempt::kDone);
  CHECK(ScriptedCounter::reads() == 1);
}

TEST_CASE("no other mode reads anything", "[arch]") {
  const ClosedPage closed;
  ScriptedCounter::always(1);
  constexpr ClockMode kLowest = std::numeric_limits<ClockMode>::min();
  for (const ClockMode mode :
       {0, 4, 5, 16, 257, 0x10001, -1, -2, kLowest, 0x7fffffff, 0x7ffffffe}) {
    CAPTURE(mode);
    CHECK(read_hw_counter<ScriptedCounter>(mode, {closed.data(), closed.data()}).attempt ==
          Attempt::kUnavailable);
  }
  CHECK(ScriptedCounter::reads() == 0);
}

TEST_CASE("a forbidden counter is never read, in no mode", "[arch]") {
  const ClosedPage closed;
  STATIC_REQUIRE(Counter<ForbiddenCounter>);
  for (ClockMode mode = -2; mode <= 5; ++mode) {
    CAPTURE(mode);
    CHECK(read_hw_counter<ForbiddenCounter>(mode, {closed.data(), closed.data()}).attempt ==
          Attempt::kUnavailable);
  }
}

// 2 is the HPET until 4.6, a device: the line for pvclock must not take it for its own.
TEST_CASE("a straight line for one mode answers that mode and hands over every other", "[arch]") {
  const ClosedPage closed;
  const std::array<std::byte, 64> record = [] {
    std::array<std::byte, 64> made{};
    made[pvclock::kVersion] = std::byte{2};
    made[pvclock::kTscToSystemMul + 3] = std::byte{0x80};
    made[pvclock::kFlags] = std::byte{pvclock::kFlagStable};
    return made;
  }();
  ScriptedCounter::always(1000);
  const CounterPages pages{record.data(), closed.data()};
  constexpr ClockModes kNow = kModesSince412;
  CHECK(read_hw_counter<ScriptedCounter, kNow, kModeTsc>(1, pages).value == 1000);
  CHECK(read_hw_counter<ScriptedCounter, kNow, kModePvclock>(2, pages).value == 500);
  CHECK(read_hw_counter<ScriptedCounter, kModesUntil46, kModePvclock>(3, pages).value == 500);
  const std::uint64_t reads = ScriptedCounter::reads();
  for (const ClockMode mode : {-1, 0, 1, 2, 3, 4, 5, 0x7fffffff}) {
    CAPTURE(mode);
    if (mode != 1) {
      CHECK(read_hw_counter<ScriptedCounter, kNow, kModeTsc>(mode, pages).attempt ==
            Attempt::kBusy);
    }
    if (mode != 2) {
      CHECK(read_hw_counter<ScriptedCounter, kNow, kModePvclock>(mode, pages).attempt ==
            Attempt::kBusy);
    }
    if (mode != 3) {
      CHECK(read_hw_counter<ScriptedCounter, kNow, kModeHvclock>(mode, pages).attempt ==
            Attempt::kBusy);
      CHECK(read_hw_counter<ScriptedCounter, kModesUntil46, kModePvclock>(mode, pages).attempt ==
            Attempt::kBusy);
    }
  }
  CHECK(ScriptedCounter::reads() == reads);
}

}  // namespace
}  // namespace vvarclock::arch
