// One writer publishes copies of a plain struct; any number of readers take them without a lock.
//
// A sequence count over atomic words: every word is stored with release and loaded with acquire, so
// the whole is free of data races by the letter and ThreadSanitizer can follow it. While the writer
// is between begin and end, readers wait, as a system call waits while the kernel's timekeeper is
// being written.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace vvarclock::test {

template <class T>
class SnapshotBox {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void begin_write() noexcept {
    seq_.store(seq_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void end_write(const T& value) noexcept {
    std::array<std::uint64_t, kWords> words{};
    std::memcpy(words.data(), &value, sizeof(T));
    for (std::size_t i = 0; i < kWords; ++i) {
      words_[i].store(words[i], std::memory_order_release);
    }
    seq_.store(seq_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // Returns value and what f made of it while it was valid: f(value) runs inside the section, so
  // that a counter which it reads belongs to the value.
  template <class F>
  auto with(F f) const noexcept {
    for (;;) {
      const std::uint64_t begin = seq_.load(std::memory_order_acquire);
      if ((begin & 1) == 0) {
        std::array<std::uint64_t, kWords> words;
        for (std::size_t i = 0; i < kWords; ++i) {
          words[i] = words_[i].load(std::memory_order_acquire);
        }
        T value;
        std::memcpy(static_cast<void*>(&value), words.data(), sizeof(T));
        auto result = f(value);
        if (seq_.load(std::memory_order_relaxed) == begin) {
          return result;
        }
      }
      __builtin_ia32_pause();
    }
  }

 private:
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;
  std::atomic<std::uint64_t> seq_{0};
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace vvarclock::test
