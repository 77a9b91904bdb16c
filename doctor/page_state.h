// The pages of a believed layout and what they hold at this moment, for showing; nothing here
// decides anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/discover/discovery.h"

namespace vvarclock::doctor {

struct PageValue {
  const char* key;
  std::int64_t number;
};

struct Page {
  const char* name;
  const std::byte* address;
  std::int64_t from_vdso;  // bytes
  bool readable;
  std::vector<PageValue> values;
};

// Nothing for a discovery that is not bound. `readable`: see discover::Kernel.
std::vector<Page> look_at_pages(const discover::Discovery& found,
                                bool (*readable)(const std::byte*) noexcept);

// The first 512 bytes of the data page, or of what the code says is one when nothing is believed;
// empty when neither is known or it cannot be read. They say what time it is and how fast the
// counter runs, so they are shown only to who asks.
std::vector<std::byte> head_of_data(const discover::Discovery& found,
                                    bool (*readable)(const std::byte*) noexcept);

// The rate of the time-stamp counter in Hz that a scale implies; 0: the scale is 0.
std::int64_t tsc_hz_of_mult(std::uint32_t mult, std::uint32_t shift);
std::int64_t tsc_hz_of_pvclock(std::uint32_t tsc_to_system_mul, int tsc_shift);
std::int64_t tsc_hz_of_hvclock(std::uint64_t tsc_scale);

}  // namespace vvarclock::doctor
