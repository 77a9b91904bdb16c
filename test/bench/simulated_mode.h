// The kernel's own vDSO and our readers over a page in clock mode tsc or hvclock, on machines whose
// clock mode is another.
//
// The vDSO's code refers to its pages relative to itself, so a copy of it beside a copy of the data
// page, with the mode changed, runs as in a kernel whose clock source is that one. (A kernel built
// without Hyper-V support has a vDSO that makes the system call in mode hvclock.) The values are
// not the time; the cost is the real one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86/clock_mode.h"
#include "core/discover/discovery.h"
#include "core/vvar/binding.h"

namespace vvarclock::bench {

class SimulatedMode {
 public:
  // `found` must be bound.
  SimulatedMode(const discover::Discovery& found, arch::ClockMode mode);

  [[nodiscard]] bool ready() const { return image_ != nullptr; }
  // The copy, with the function offsets of the original.
  [[nodiscard]] discover::VdsoImage image() const;
  [[nodiscard]] vvar::Binding binding() const;
  [[nodiscard]] arch::ClockMode mode() const { return mode_; }
  // What the kernel's tick does: brings cycle_last up to now. Call it before every batch.
  void tick() const;

 private:
  void fill_page() const;

  [[nodiscard]] std::uint64_t cycles_now() const;

  const discover::Discovery& found_;
  arch::ClockMode mode_;
  std::byte* image_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace vvarclock::bench
