// One thing that is wrong with a page that is otherwise good, and the test of the probe that must
// say so: tables of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/discover/layout_probe.h"
#include "test/core/discover/probe_kernel.h"

namespace vvarclock::test {

inline bool every_row(const vvar::Layout&) { return true; }
inline bool generic_rows(const vvar::Layout& row) { return !is_old(row); }

struct Fault {
  discover::ProbeTest expected;
  const char* what;
  std::function<void(ProbeKernel&, const vvar::BlockLayout&)> make;
  arch::ClockMode mode = arch::kModeTsc;
  // Rows that have what it is about.
  bool (*concerns)(const vvar::Layout&) = &every_row;
};

// Refused before a number of the page is looked at, or by numbers that hold in any clock mode.
const std::vector<Fault>& faults_of_bytes();
// Mask, mult, shift, the two blocks against each other, the counter against the page.
const std::vector<Fault>& faults_of_scale();
// The clocks' bases against each other, and the page against the system call.
const std::vector<Fault>& faults_of_bases();

// Adds to a 64-bit field of the data, and keeps the sum there through every update.
void add(ProbeKernel& kernel, std::size_t offset, std::int64_t amount);
void add_to_both_blocks(ProbeKernel& kernel, const vvar::BlockLayout& block, std::size_t offset,
                        std::int64_t amount);

}  // namespace vvarclock::test
