// The kernel's side of a vvar page, by hand: a test says what each field holds.
//
// Writes plain memory through the block description of core/vvar/layout.h (layout_test.cc holds
// that against numbers of its own). Not a simulated timekeeper: nothing here moves by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/vvar/layout.h"

namespace vvarclock::test {

struct Anchor {
  std::uint64_t cycle_last;
  std::uint32_t mult;
  std::uint32_t shift;
};

// A counter of 2 GHz: half a nanosecond per cycle.
inline constexpr Anchor k2Ghz{1'000'000'000'000, 1U << 23, 24};

class PageWriter {
 public:
  PageWriter(const vvar::BlockLayout& block, std::byte* data) noexcept
      : block_(block), data_(data) {}

  template <class T>
  void put(std::size_t offset, T value) const noexcept {
    std::memcpy(data_ + offset, &value, sizeof(value));
  }

  void seq(std::uint32_t value) const noexcept { both(block_.seq, value); }
  void mode(std::int32_t value) const noexcept { both(block_.seq + 4U, value); }

  void anchor(const Anchor& a) const noexcept {
    both(block_.cycle_last, a.cycle_last);
    both(block_.mult, a.mult);
    both(block_.shift, a.shift);
  }

  // In the block that the clock lives in; nsec as the page has it: shifted, but for coarse clocks
  // and namespace offsets.
  void base(vvar::ClockId id, std::uint64_t sec, std::uint64_t nsec) const noexcept {
    const std::size_t block = id == vvar::kMonotonicRaw ? block_.stride : 0U;
    if (block_.narrow) {
      put(block + block_.sec(id), static_cast<std::uint32_t>(sec));
    } else {
      put(block + block_.sec(id), sec);
    }
    if (block_.narrow && vvar::is_in(id, vvar::kCoarseIds)) {
      put(block + block_.nsec(id), static_cast<std::uint32_t>(nsec));
    } else {
      put(block + block_.nsec(id), nsec);
    }
  }

  // A time-namespace page as the kernel makes it: its mark, no anchors, and in both blocks the
  // monotonic offset for ids 1, 4 and 6, the boottime offset for 7 and 9, nothing for the others.
  void timens(std::int32_t mark, std::int64_t monotonic_sec, std::uint64_t monotonic_nsec,
              std::int64_t boottime_sec, std::uint64_t boottime_nsec) const noexcept {
    std::memset(data_, 0, 2U * block_.stride);
    seq(1);
    mode(mark);
    for (const vvar::ClockId id : {1U, 4U, 6U}) {
      both(block_.sec(id), monotonic_sec);
      both(block_.nsec(id), monotonic_nsec);
    }
    for (const vvar::ClockId id : {7U, 9U}) {
      both(block_.sec(id), boottime_sec);
      both(block_.nsec(id), boottime_nsec);
    }
  }

 private:
  template <class T>
  void both(std::size_t offset, T value) const noexcept {
    put(offset, value);
    put(block_.stride + offset, value);
  }

  const vvar::BlockLayout& block_;
  std::byte* data_;
};

// A page at rest in mode tsc: clock id i is (1000 + i) seconds and i * 1000 nanoseconds at
// cycle_last.
inline void write_page_at_rest(const PageWriter& page, std::uint32_t seq = 8,
                               std::uint64_t first_sec = 1000) noexcept {
  page.seq(seq);
  page.mode(1);
  page.anchor(k2Ghz);
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    const bool coarse = vvar::is_in(clock.id, vvar::kCoarseIds);
    const std::uint64_t nsec = clock.id * 1000U;
    page.base(clock.id, first_sec + clock.id, coarse ? nsec : nsec << k2Ghz.shift);
  }
}

}  // namespace vvarclock::test
