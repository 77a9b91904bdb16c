// The fresh processes: each is this program again, as a worker, with its samples in a pipe.
//
// Fresh, because where the loader and the kernel happen to put a program decides a few per cent of
// a call's cost, and one process has only one such place.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/pass.h"

namespace vvarclock::bench {

// One process with the program's own words; nothing: it did not do its work.
std::optional<Pass> pass_of_fresh_process(const Plan& plan, std::span<char* const> words);

}  // namespace vvarclock::bench
