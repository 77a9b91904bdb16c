// Where a raw line is published: read by every call that it serves, written when it is published,
// checked or retired.
//
// Everything in it is read in words of the machine, so what is read while a writer is at work is
// garbage at worst; who reads checks afterwards that RawClock's word has not moved (raw_clock.h).
// Never waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/halves.h"
#include "core/vvar/raw_line.h"

namespace vvarclock::serve {

// RawClock's word, or a counter of a line in force: it only rises, or is settled once and was later
// than every counter before (`unknown`, whose high half no counter has). On 32-bit machines it is
// read in halves (there a compiler would go through the floating-point unit to have it in one
// piece): the value is then one that it had, or less than the one that it has by now.
[[gnu::always_inline]] inline std::uint64_t load_rising(
    const std::atomic<std::uint64_t>& counter) noexcept {
  if constexpr (arch::kTwoRegisters) {
    static_assert(sizeof(counter) == sizeof(std::uint64_t));
    const std::uint64_t value = arch::load_whole(reinterpret_cast<const std::byte*>(&counter));
    std::atomic_thread_fence(std::memory_order_acquire);
    return value;
  } else {
    return counter.load(std::memory_order_acquire);
  }
}

// Is a word that only rises still what load_rising gave?
[[gnu::always_inline]] inline bool is_still(std::uint64_t seen,
                                            const std::atomic<std::uint64_t>& word) noexcept {
  if constexpr (arch::kTwoRegisters) {
    std::atomic_thread_fence(std::memory_order_acquire);
    return arch::load_halves(reinterpret_cast<const std::byte*>(&word)) == arch::Halves(seen);
  } else {
    return word.load(std::memory_order_acquire) == seen;
  }
}

struct alignas(128) RawSlot {
  // What stands for a counter that is not known yet: later than every counter, and another one each
  // time that the slot is published, so that who was stopped in between settles nothing.
  static constexpr std::uint64_t unknown(std::uint64_t version) noexcept {
    return kFirstUnknown | (version & 0xffffffff);
  }
  static constexpr bool is_known(std::uint64_t counter) noexcept { return counter < kFirstUnknown; }

  [[nodiscard]] vvar::RawLine line() const noexcept {
    vvar::RawLine copy;
    copy.assign(shared_line);
    return copy;
  }

  // What a call reads. Of no meaning until the slot is published.
  vvar::SharedRawLine shared_line;
  std::atomic<std::uint64_t> start{0};  // the line serves from here
  std::atomic<std::uint64_t> due{0};    // up to here: then one caller asks the kernel first
  // Of no interest to a served call.
  alignas(128) std::atomic<std::uint64_t> checked{0};  // counter of the latest proof by system call
  std::atomic<std::uint64_t> end{0};   // retired: nobody was served a counter after this
  std::atomic<std::uint64_t> gate{0};  // cycles from publishing to start
  // ns; what was given out on the word of a wrong line before this one.
  std::atomic<std::uint64_t> held{0};

 private:
  static constexpr std::uint64_t kFirstUnknown = ~std::uint64_t{0} << 32;
};
static_assert(sizeof(RawSlot) == 256, "what a call reads is on the first 128 bytes");

// Never lowers.
inline void raise_to(std::atomic<std::uint64_t>& field, std::uint64_t value) noexcept {
  std::uint64_t seen = field.load(std::memory_order_relaxed);
  while (seen < value && !field.compare_exchange_weak(seen, value, std::memory_order_acq_rel)) {
  }
}

// Sets it unless somebody has, or the slot has been published anew, since it was `unknown`; returns
// what it is now.
inline std::uint64_t settle_once(std::atomic<std::uint64_t>& field, std::uint64_t unknown,
                                 std::uint64_t value) noexcept {
  return field.compare_exchange_strong(unknown, value) ? value : unknown;
}

}  // namespace vvarclock::serve
