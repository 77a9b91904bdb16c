// A simulated kernel with the probe at hand: what the probe's tests share.
#pragma once

#include <string>

#include "core/discover/layout_probe.h"
#include "test/support/fake_kernel.h"
#include "test/support/page_store.h"
#include "test/support/sim_counter.h"

namespace vvarclock::test {

// The code of a vDSO that reads this layout, when the scan finds all of it.
inline discover::CodeHints hints_of(const vvar::Layout& layout) noexcept {
  return {.data = layout.data,
          .stride = vvar::block_layout(layout.block).stride,
          .highest_id = layout.highest_id};
}

class ProbeKernel : public FakeKernel {
 public:
  using Hints = discover::CodeHints;

  // Time passes with every look at the counter, so that brackets are wide enough to be real and
  // narrow enough to be sharp.
  ProbeKernel(const vvar::Layout& layout, const FakeSetup& setup)
      : FakeKernel(layout, setup), origin_(&layout) {
    SimCounter::step = 50;
  }
  ~ProbeKernel() { SimCounter::step = 0; }

  // The row itself, as the probe will name it.
  [[nodiscard]] const vvar::Layout& layout() const noexcept { return *origin_; }

  discover::Refusal probe(const vvar::Layout& read_as, const Hints& hints,
                          vvar::Binding* found = nullptr) {
    vvar::Binding unused;
    return discover::probe_layout({&table(), image(), hints, discover::kAttachEffort}, read_as,
                                  found == nullptr ? unused : *found);
  }

 private:
  const vvar::Layout* origin_;
};

// For messages: the words of the report.
inline std::string verdict(discover::ProbeTest test) { return discover::describe(test); }
inline std::string verdict(const discover::Refusal& refusal) {
  return discover::describe(refusal.test);
}

// With a binding as this row would have it: high-resolution and raw clocks are left to the kernel,
// coarse clocks are served.
inline bool no_counter_clock_is_read(const FakeKernel& kernel, const vvar::Layout& row) {
  vvar::Binding binding = kernel.binding();
  binding.counters = {kernel.image() + row.pvclock, kernel.image() + row.hvclock};
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    vvar::SecNsec time{};
    const bool served = kernel.table().read_clock(row.block, binding, clock.id, time);
    if (served != vvar::is_in(clock.id, vvar::kCoarseIds)) {
      return false;
    }
  }
  return true;
}

}  // namespace vvarclock::test
