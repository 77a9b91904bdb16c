// A simulated kernel with the probe at hand: what the probe's tests share.
#pragma once

#include <string>

#include "core/discover/layout_probe.h"
#include "test/support/fake_kernel.h"
#include "test/support/image_builder.h"
#include "test/support/page_store.h"
#include "test/support/sim_counter.h"

namespace vvarclock::test {

// The code of a vDSO that reads this layout, when the scan finds all of it.
inline discover::CodeHints hints_of(const vvar::Layout& layout) noexcept {
  discover::CodeHints hints{.width = width_of(layout),
                            .anchor = layout.anchor,
                            .data = layout.data,
                            .stride = vvar::block_layout(layout.block).stride,
                            .highest_id = layout.highest_id,
                            .hpet = layout.hpet};
  if (hints.width == arch::CodeWidth::k32) {
    hints.tail = static_cast<std::uint16_t>(layout.timezone + 4);
  }
  for (const std::int32_t page : {layout.data, layout.timens, layout.pvclock, layout.hvclock}) {
    if (page != vvar::kNoPage && layout.anchor == vvar::Anchor::kImage) {
      hints.pages |= 1U << static_cast<unsigned>((-page + 0xfff) / 0x1000);
    }
  }
  return hints;
}

// Two rows that differ in their mode numbers and in the pages around the data alone: nothing but
// the code tells their pages apart.
inline bool same_bytes(const vvar::Layout& a, const vvar::Layout& b) noexcept {
  const auto is_b = [](const vvar::Layout& row) {
    return row.block == vvar::BlockKind::kB || row.block == vvar::BlockKind::kBUntil46;
  };
  const auto is_b32 = [](const vvar::Layout& row) { return vvar::block_layout(row.block).narrow; };
  return ((is_b(a) && is_b(b)) || (is_b32(a) && is_b32(b))) && a.anchor == b.anchor &&
         a.data == b.data;
}

// Two rows that are tried for the same programs.
inline bool same_programs(const vvar::Layout& a, const vvar::Layout& b) noexcept {
  return b.is_for(width_of(a));
}

// Two rows whose code is told apart by nothing that a scan sees.
inline bool same_code(const vvar::Layout& a, const vvar::Layout& b) noexcept {
  return a.anchor == vvar::Anchor::kAbsolute && b.anchor == vvar::Anchor::kAbsolute;
}

// Code that would have its data where the other generation's machine has an HPET: no kernel has
// that, and whoever believes it touches the device.
inline bool names_hpet_as_data(const vvar::Layout& code, const vvar::Layout& pages) noexcept {
  return pages.hpet && pages.anchor == vvar::Anchor::kImage && code.anchor == pages.anchor &&
         (code.data & -0x1000) == hpet_page(pages);
}

inline bool is_old(const vvar::Layout& layout) noexcept {
  return !vvar::block_layout(layout.block).is_generic();
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
    return discover::probe_layout({&table(), mapped_image(), hints, discover::kAttachEffort},
                                  read_as, found == nullptr ? unused : *found);
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
  binding.counters = {kernel.at(row.pvclock), kernel.at(row.hvclock)};
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
