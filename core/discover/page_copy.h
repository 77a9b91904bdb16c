// A copy of both clock blocks that holds still, for the tests that look at bytes.
//
// Depends on core/vvar. Not for the call path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/vvar/layout.h"
#include "core/vvar/read_clock.h"

namespace vvarclock::discover {

struct BlockCopy {
  std::uint32_t seq;
  arch::ClockMode mode;
  std::uint64_t cycle_last;
  std::uint64_t max_cycles;  // 0 where the block has no such field
  std::uint64_t mask;
  std::uint32_t mult;
  std::uint32_t shift;
  std::array<vvar::SecNsec, vvar::kBasetimeSlots> basetime;
};

struct PageCopy {
  std::array<BlockCopy, 2>
      blocks;  // 0: every clock but RAW; 1: RAW, or block 0 again where there is no other
  vvar::Timezone timezone;
  std::uint32_t hrtimer_res;  // 0 where the page does not say
};

enum class CopyResult : std::uint8_t {
  kDone,
  kSeqOdd,    // a writer is at work for ever
  kUnstable,  // it changed under every attempt
};

// How long to wait for a writer, in pause instructions: 5 to 70 ns each, by CPU. The kernel's
// writer needs under a microsecond, but its virtual CPU may lose its turn in the middle, for tens
// of milliseconds. That much is for a page that the code confirms; of the others, each may have an
// odd word for good where its seq should be, and the host waits for all of them at its start.
enum class Patience : std::uint32_t {
  kShort = 1U << 16,  // some milliseconds at most
  kLong = 1U << 22,   // 20 to 300 ms
};

// Copies from `data`, block 0 of the layout. All of layout.size must be readable.
CopyResult copy_page(const std::byte* data, const vvar::Layout& layout, Patience patience,
                     PageCopy& copy) noexcept;

}  // namespace vvarclock::discover
