// The third witness: for every served clock, what the system call answers between two readings of
// the page must lie between them.
#pragma once

#include "core/discover/invariants.h"
#include "core/discover/kernel.h"
#include "core/discover/layout_probe.h"

namespace vvarclock::discover {

struct Agreement {
  Finding found;              // of the first clock outside its bracket
  bool all_bracketed = true;  // no clock of the page was left to the kernel
};

// `real` is block 0 of the data that the kernel updates. A clock that the reader leaves to the
// kernel (clock mode none, a hypervisor page that is dead or not stable, a forbidden counter) is
// not bracketed, but a coarse clock must be answered in every mode.
Agreement check_agreement(const Kernel& kernel, const vvar::Layout& layout,
                          const vvar::Binding& binding, const std::byte* real,
                          const Effort& effort) noexcept;

}  // namespace vvarclock::discover
