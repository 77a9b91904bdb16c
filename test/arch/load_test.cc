// Guards against: a load of the wrong width, sign or place; a load that the compiler saves, because
// it has done one, or splits, because it may.
#include "arch/load.h"

#include <array>

#include "test/support/catch.h"
#include "test/support/watched_page.h"

namespace vvarclock::arch {
namespace {

TEST_CASE("load takes the bytes at its offset, in the machine's order", "[arch]") {
  alignas(8) std::array<std::byte, 16> memory{};
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = static_cast<std::byte>(0xf0 + i);
  }
  CHECK(load<std::uint8_t>(memory.data(), 3) == 0xf3);
  CHECK(load<std::int8_t>(memory.data(), 3) == -13);
  CHECK(load<std::uint32_t>(memory.data(), 4) == 0xf7f6f5f4U);
  CHECK(load<std::int32_t>(memory.data(), 4) == static_cast<std::int32_t>(0xf7f6f5f4U));
  CHECK(load<std::uint64_t>(memory.data()) == 0xf7f6f5f4f3f2f1f0U);
  CHECK(load<std::uint64_t>(memory.data(), 8) == 0xfffefdfcfbfaf9f8U);
}

template <class T>
unsigned accesses_of_five_loads() {
  test::WatchedPage page;
  page.arm();
  T sum = 0;
  for (int i = 0; i < 5; ++i) {
    sum += load<T>(page.watched(), 64);
  }
  const unsigned accesses = page.disarm();
  CHECK(sum == 0);
  return accesses;
}

TEST_CASE("each load is one access, none is saved", "[arch]") {
  CHECK(accesses_of_five_loads<std::uint32_t>() == 5);
  CHECK(accesses_of_five_loads<std::uintptr_t>() == 5);
  CHECK(accesses_of_five_loads<std::uint64_t>() == (sizeof(void*) < 8 ? 10 : 5));
}

TEST_CASE("a load sees what was written just before it", "[arch]") {
  struct Writer final : test::WatchedPage::Script {
    std::byte* memory = nullptr;
    void before_load(unsigned load) noexcept override { memory[64] = static_cast<std::byte>(load); }
  } writer;
  test::WatchedPage page;
  writer.memory = page.written();
  page.arm(&writer);
  const auto first = load<std::uint32_t>(page.watched(), 64);
  const auto second = load<std::uint32_t>(page.watched(), 64);
  const unsigned loads = page.disarm();
  CHECK(first == 1);
  CHECK(second == 2);
  CHECK(loads == 2);
}

}  // namespace
}  // namespace vvarclock::arch
