#include "core/serve/raw_reader.h"

namespace vvarclock::serve {

// Of zeros, but in the file: for what is not, the loader maps memory of its own at every start.
[[gnu::section(".data")]] constinit RawClock raw_clock;

void begin_raw_clock(const vvar::Binding& binding, vvar::BlockKind kind,
                     arch::ClockMode now) noexcept {
  if (!vvar::block_layout(kind).has_raw_block()) {
    raw_clock.begin(has_raw_line(now) ? now : arch::kModeTsc, binding.coarse_resolution);
  }
}

}  // namespace vvarclock::serve
