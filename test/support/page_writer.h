// Timekeeper state -> the bytes of a vvar page of any layout, with the writer's side of the
// sequence protocol.
//
// Offsets come from the layout alone, so a new row of vvar::kLayouts is written without a change
// here. Writes to memory that it is given, and knows nothing of mappings or system calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86/clock_mode.h"
#include "core/vvar/layout.h"
#include "test/support/timekeeper.h"

namespace vvarclock::test {

// What differs between kernels of one layout.
struct Dialect {
  bool refresh_when_none =
      false;  // before 5.7: everything; later only REALTIME, the coarse clocks and the resolution
  arch::ClockMode timens_mark = arch::kModeTimens;
  bool hpet_mode = false;     // until 4.6: a source that is none of the others is an HPET, mode 2
  bool whole_raw_ns = false;  // before 4.12: see Timekeeper::round_raw
};

// The dialect of the kernels of a row; where a row has two, that of the later ones.
Dialect dialect_of(const vvar::Layout& layout) noexcept;

struct TimensOffset {
  std::int64_t sec = 0;
  std::int64_t nsec = 0;  // 0 .. 999'999'999
};

struct TimensOffsets {
  TimensOffset monotonic;
  TimensOffset boottime;
};

// The number that the page has for one of today's modes.
arch::ClockMode page_mode(const Dialect& dialect, arch::ClockMode mode) noexcept;

// An update is begin, any number of stores, end. Block 0 first, then block 1 where there is one.
void begin_update(const vvar::Layout& layout, std::byte* data) noexcept;
void write_times(const vvar::Layout& layout, const Dialect& dialect, std::byte* data,
                 const Times& times) noexcept;
void end_update(const vvar::Layout& layout, std::byte* data) noexcept;

// The page that stands in place of the data inside a time namespace. Written once, before anybody
// sees it.
void write_timens_page(const vvar::Layout& layout, const Dialect& dialect, std::byte* data,
                       const TimensOffsets& offsets) noexcept;

// Outside the sequence protocol, as the kernel does.
void write_timezone(const vvar::Layout& layout, std::byte* data, std::int32_t minutes_west,
                    std::int32_t dst) noexcept;

}  // namespace vvarclock::test
