// The third witness: every served clock, read from the page between two system calls, must lie
// between them.
#pragma once

#include "core/discover/invariants.h"
#include "core/discover/kernel.h"
#include "core/discover/layout_probe.h"

namespace vvarclock::discover {

// `real` is block 0 of the data that the kernel updates. Clocks that the reader leaves to the
// kernel in the present clock mode are not bracketed, but a coarse clock must be answered in every
// mode.
Finding check_agreement(const Kernel& kernel, const vvar::Layout& layout,
                        const vvar::Binding& binding, const std::byte* real,
                        const Effort& effort) noexcept;

}  // namespace vvarclock::discover
