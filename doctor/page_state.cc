#include "doctor/page_state.h"

#include <cmath>
#include <cstring>
#include <functional>

#include "arch/load.h"
#include "arch/x86/page.h"
#include "core/serve/report.h"

namespace vvarclock::doctor {
namespace {

using arch::load;

std::vector<PageValue> block_values(const std::byte* data, const vvar::BlockLayout& block) {
  const vvar::SeqMode now = vvar::look(data, block);
  const auto shift = load<std::uint32_t>(data, block.shift);
  std::vector<PageValue> values{{"seq", now.seq()},
                                {"clock_mode", now.mode()},
                                {"mult", load<std::uint32_t>(data, block.mult)},
                                {"shift", shift}};
  // Without a block for the raw clock there is only the mult that NTP steers.
  const auto own_mult = load<std::uint32_t>(data, std::size_t{block.stride} + block.mult);
  if (block.has_raw_block()) {
    values.push_back({"raw_mult", own_mult});
  }
  if (now.mode() == arch::kModeTsc) {
    values.push_back({"tsc_hz", tsc_hz_of_mult(own_mult, shift)});
  }
  return values;
}

std::vector<PageValue> mark_values(const std::byte* data, const vvar::BlockLayout& block) {
  const vvar::SeqMode now = vvar::look(data, block);
  return {{"seq", now.seq()}, {"clock_mode", now.mode()}};
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
  const vvar::Binding& binding = found.binding;
  const vvar::BlockLayout& block = vvar::block_layout(found.layout->block);
  const bool in_namespace = serve::in_time_namespace(found);
  std::vector<Page> pages;
  // A page that the binding does not have is not looked at: the kernel has none, or what is there
  // is not known to be one.
  const auto add = [&](const char* name, const std::byte* address,
                       const std::function<std::vector<PageValue>(const std::byte*)>& values) {
    if (address != nullptr) {
      const bool may_read = readable(address);
      pages.push_back({name, address, address - found.image.bytes.data(), may_read,
                       may_read ? values(address) : std::vector<PageValue>{}});
    }
  };
  add("data", binding.data, [&](const std::byte* at) {
    return in_namespace ? mark_values(at, block) : block_values(at, block);
  });
  add("timens", binding.timens_data, [&](const std::byte* at) {
    return in_namespace ? block_values(at, block) : std::vector<PageValue>{};
  });
  add("pvclock", binding.counters.pvclock, &pvclock_values);
  add("hvclock", binding.counters.hvclock, &hvclock_values);
  return pages;
}

std::vector<std::byte> head_of_data(const discover::Discovery& found,
                                    bool (*readable)(const std::byte*) noexcept) {
  constexpr std::size_t kHead = 512;
  const std::byte* start = found.binding.data;
  if (start == nullptr && found.hints.data != 0 && !found.image.bytes.empty()) {
    // Not believed: where the code has its data.
    const std::size_t whole = arch::whole_pages(found.image.bytes.size());
    const std::byte* const image = found.image.bytes.data();
    const std::byte* const anchor = found.hints.anchor == vvar::Anchor::kImage      ? image
                                    : found.hints.anchor == vvar::Anchor::kImageEnd ? image + whole
                                                                                    : nullptr;
    start = reinterpret_cast<const std::byte*>(
        reinterpret_cast<std::uintptr_t>(anchor) +
        static_cast<std::uintptr_t>(static_cast<std::intptr_t>(found.hints.data)));
  }
  if (start == nullptr || !readable(start) || !readable(start + kHead - 1)) {
    return {};
  }
  std::vector<std::byte> bytes(kHead);
  for (std::size_t i = 0; i < kHead; i += sizeof(std::uint64_t)) {
    const auto word = load<std::uint64_t>(start, i);
    std::memcpy(bytes.data() + i, &word, sizeof(word));
  }
  return bytes;
}

}  // namespace vvarclock::doctor
