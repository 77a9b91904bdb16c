// Random numbers for tests, repeatable by their seed.
//
// The seed is new on every run and belongs into every failure message (CAPTURE(random.seed()));
// VVARCLOCK_TEST_SEED=<seed> repeats a run. Depends on the standard library only, so that fuzz
// targets and helpers can use it without Catch2. Not for several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace vvarclock::test {

inline std::uint64_t random_seed() {
  if (const char* wanted = std::getenv("VVARCLOCK_TEST_SEED"); wanted != nullptr) {
    return std::strtoull(wanted, nullptr, 0);
  }
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

class Random {
 public:
  explicit Random(std::uint64_t seed = random_seed()) : seed_(seed), engine_(seed) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  std::uint64_t u64() { return engine_(); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(engine_()); }

  // 0 .. bound-1; bound is not 0. The bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

  // The same for sizes and indices.
  std::size_t index_below(std::size_t bound) { return static_cast<std::size_t>(below(bound)); }

  // Where arithmetic breaks: edges of words and their neighbours, and numbers of every length in
  // bits.
  std::uint64_t edgy_u64() {
    const auto bits = static_cast<unsigned>(below(64));
    switch (below(4)) {
      case 0:
        return u64() >> bits;
      case 1:
        return (std::uint64_t{1} << bits) - below(3);
      case 2:
        return (std::uint64_t{1} << bits) + below(2);
      default:
        return ~std::uint64_t{0} - (u64() >> bits);
    }
  }

  std::uint32_t edgy_u32() {
    const auto bits = static_cast<unsigned>(below(32));
    switch (below(3)) {
      case 0:
        return u32() >> bits;
      case 1:
        return (std::uint32_t{1} << bits) - static_cast<std::uint32_t>(below(3));
      default:
        return ~std::uint32_t{0} - (u32() >> bits);
    }
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

// Every pair of these belongs into a test of 64-bit arithmetic, whatever the seed.
inline constexpr std::array<std::uint64_t, 12> kExtremes64{0,
                                                           1,
                                                           2,
                                                           0x7fffffff,
                                                           0x80000000,
                                                           0xffffffff,
                                                           0x100000000,
                                                           0x7fffffffffffffff,
                                                           0x8000000000000000,
                                                           0x8000000000000001,
                                                           0xffffffff00000000,
                                                           0xffffffffffffffff};
inline constexpr std::array<std::uint32_t, 7> kExtremes32{
    0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};

}  // namespace vvarclock::test
