// Where a raw line is published: read by every call that it serves, written when it is published,
// checked or retired.
//
// Every field is an atomic word, so that a copy taken while a writer is at work is garbage at
// worst; who copies checks afterwards that RawClock's word has not moved (raw_clock.h). Never
// waits.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/vvar/raw_line.h"

namespace vvarclock::serve {

struct alignas(128) RawSlot {
  static constexpr std::size_t kWords = sizeof(vvar::RawLine) / sizeof(std::uint64_t);
  using Words = std::array<std::uint64_t, kWords>;
  static_assert(sizeof(Words) == sizeof(vvar::RawLine));
  static_assert(std::has_unique_object_representations_v<vvar::RawLine>, "a word of padding");

  [[gnu::always_inline]] vvar::RawLine line() const noexcept {
    Words words;
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i] = line_words[i].load(std::memory_order_acquire);
    }
    return std::bit_cast<vvar::RawLine>(words);
  }

  void write(const vvar::RawLine& line) noexcept {
    const auto words = std::bit_cast<Words>(line);
    for (std::size_t i = 0; i < kWords; ++i) {
      line_words[i].store(words[i], std::memory_order_release);
    }
  }

  std::array<std::atomic<std::uint64_t>, kWords> line_words{};
  // All in counter units; 0: not known yet.
  std::atomic<std::uint64_t> start{0};  // the line serves from here
  std::atomic<std::uint64_t> due{0};    // up to here: then one caller asks the kernel first
  // Of no interest to a served call.
  alignas(128) std::atomic<std::uint64_t> checked{0};  // the latest proof by system call
  std::atomic<std::uint64_t> end{0};   // retired: nobody was served a counter after this
  std::atomic<std::uint64_t> gate{0};  // cycles from publishing to start
  // ns; what was given out on the word of a wrong line before this one.
  std::atomic<std::uint64_t> held{0};
};

// Never lowers.
inline void raise_to(std::atomic<std::uint64_t>& field, std::uint64_t value) noexcept {
  std::uint64_t seen = field.load(std::memory_order_relaxed);
  while (seen < value && !field.compare_exchange_weak(seen, value, std::memory_order_acq_rel)) {
  }
}

// Sets it unless somebody has; returns what it is now.
inline std::uint64_t settle_once(std::atomic<std::uint64_t>& field, std::uint64_t value) noexcept {
  std::uint64_t seen = 0;
  return field.compare_exchange_strong(seen, value) ? value : seen;
}

}  // namespace vvarclock::serve
