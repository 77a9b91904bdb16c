#include "doctor/page_state.h"

#include <cmath>
#include <functional>

#include "arch/load.h"
#include "core/serve/report.h"

namespace vvarclock::doctor {
namespace {

using arch::load;

std::vector<PageValue> block_values(const std::byte* data, const vvar::BlockLayout& block) {
  const auto mode = load<arch::ClockMode>(data, block.seq + 4U);
  const auto raw_mult = load<std::uint32_t>(data, block.stride + block.mult);
  const auto shift = load<std::uint32_t>(data, block.shift);
  std::vector<PageValue> values{{"seq", load<std::uint32_t>(data, block.seq)},
                                {"clock_mode", mode},
                                {"mult", load<std::uint32_t>(data, block.mult)},
                                {"raw_mult", raw_mult},
                                {"shift", shift}};
  if (mode == arch::kModeTsc) {
    values.push_back({"tsc_hz", tsc_hz_of_mult(raw_mult, shift)});
  }
  return values;
}

std::vector<PageValue> mark_values(const std::byte* data, const vvar::BlockLayout& block) {
  return {{"seq", load<std::uint32_t>(data, block.seq)},
          {"clock_mode", load<arch::ClockMode>(data, block.seq + 4U)}};
}

std::vector<PageValue> pvclock_values(const std::byte* record) {
  const auto mul = load<std::uint32_t>(record, arch::pvclock::kTscToSystemMul);
  const int shift = load<std::int8_t>(record, arch::pvclock::kTscShift);
  const auto flags = load<std::uint8_t>(record, arch::pvclock::kFlags);
  return {{"version", load<std::uint32_t>(record, arch::pvclock::kVersion)},
          {"stable", (flags & arch::pvclock::kFlagStable) != 0 ? 1 : 0},
          {"tsc_to_system_mul", mul},
          {"tsc_shift", shift},
          {"tsc_hz", tsc_hz_of_pvclock(mul, shift)}};
}

std::vector<PageValue> hvclock_values(const std::byte* page) {
  const auto scale = load<std::uint64_t>(page, arch::hvclock::kTscScale);
  return {{"tsc_sequence", load<std::uint32_t>(page, arch::hvclock::kTscSequence)},
          {"tsc_offset", load<std::int64_t>(page, arch::hvclock::kTscOffset)},
          {"tsc_hz", tsc_hz_of_hvclock(scale)}};
}

// Hz, rounded; a scale of nothing or of a rate beyond the integers gives 0.
std::int64_t rounded(double hz) { return std::isfinite(hz) && hz < 9e18 ? std::llround(hz) : 0; }

}  // namespace

std::int64_t tsc_hz_of_mult(std::uint32_t mult, std::uint32_t shift) {
  return rounded(std::ldexp(1e9, static_cast<int>(shift & 63U)) / mult);
}

std::int64_t tsc_hz_of_pvclock(std::uint32_t tsc_to_system_mul, int tsc_shift) {
  return rounded(std::ldexp(1e9, 32 - tsc_shift) / tsc_to_system_mul);
}

std::int64_t tsc_hz_of_hvclock(std::uint64_t tsc_scale) {
  return rounded(std::ldexp(1e7, 64) / static_cast<double>(tsc_scale));
}

std::vector<Page> look_at_pages(const discover::Discovery& found,
                                bool (*readable)(const std::byte*) noexcept) {
  if (found.outcome != discover::Outcome::kBound) {
    return {};
  }
  const vvar::Layout& layout = *found.layout;
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  const bool in_namespace = serve::in_time_namespace(found);
  std::vector<Page> pages;
  const auto add = [&](const char* name, std::int32_t offset,
                       const std::function<std::vector<PageValue>(const std::byte*)>& values) {
    const std::byte* const address = found.image.bytes.data() + offset;
    if (offset != vvar::kNoPage) {
      const bool may_read = readable(address);
      pages.push_back(
          {name, address, offset, may_read, may_read ? values(address) : std::vector<PageValue>{}});
    }
  };
  add("data", layout.data, [&](const std::byte* at) {
    return in_namespace ? mark_values(at, block) : block_values(at, block);
  });
  add("timens", layout.timens, [&](const std::byte* at) {
    return in_namespace ? block_values(at, block) : std::vector<PageValue>{};
  });
  add("pvclock", layout.pvclock, &pvclock_values);
  add("hvclock", layout.hvclock, &hvclock_values);
  return pages;
}

}  // namespace vvarclock::doctor
