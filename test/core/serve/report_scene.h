// What the tests of the report look at: a believed page, a namespace page and the hypervisor pages,
// in memory of ours.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/serve/report.h"

namespace vvarclock::serve {

struct Scene {
  alignas(4096) std::array<std::byte, 4096> data{};
  alignas(4096) std::array<std::byte, 4096> mark{};
  alignas(4096) std::array<std::byte, 4096> pvclock{};
  alignas(4096) std::array<std::byte, 4096> hvclock{};
  discover::Discovery found;
  Options options;
  Report report{&found, &options, arch::Ordering::kLfence, true, true};

  Scene() {
    found.outcome = discover::Outcome::kBound;
    found.layout = &vvar::kLayouts[0];
    found.confirmed_by_code = true;
    found.binding.data = data.data();
    found.binding.timens_data = nullptr;
    found.binding.counters = {pvclock.data(), hvclock.data()};
    found.image.bytes = data;
    found.image.linux_version_code = (6U << 16) | (18U << 8) | 44U;
    set_mode(arch::kModeTsc);
  }
  void set_mode(arch::ClockMode mode) { std::memcpy(data.data() + 4, &mode, sizeof(mode)); }
  void enter_namespace(bool real_page_known) {
    const std::uint32_t seq = 1;
    const arch::ClockMode mode = arch::kModeTimens;
    std::memcpy(mark.data(), &seq, sizeof(seq));
    std::memcpy(mark.data() + 4, &mode, sizeof(mode));
    found.binding.data = mark.data();
    found.binding.timens_data = real_page_known ? data.data() : nullptr;
  }
  void set_stable(bool stable) {
    pvclock[arch::pvclock::kFlags] = stable ? std::byte{1} : std::byte{0xfe};
  }
  void set_sequence(unsigned char sequence) {
    hvclock[arch::hvclock::kTscSequence] = std::byte{sequence};
  }
  [[nodiscard]] Service fine() const { return service(report, vvar::kMonotonic); }
  [[nodiscard]] Service coarse() const { return service(report, vvar::kMonotonicCoarse); }
  [[nodiscard]] std::string json() const {
    ReportBuffer out;
    append_json(report, out);
    return std::string(out.view());
  }
  [[nodiscard]] std::string text() const {
    ReportBuffer out;
    append_text(report, out);
    return std::string(out.view());
  }
};

inline bool holds(const std::string& whole, const std::string& part) {
  return whole.find(part) != std::string::npos;
}

}  // namespace vvarclock::serve
