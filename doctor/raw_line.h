// How good CLOCK_MONOTONIC_RAW is where the page has no record of it: the line in the counter,
// found here and now by the library's own engine.
//
// The preloaded library has an engine of its own, which finds the same line for itself and keeps to
// its own bound; it is not asked, because nothing but the clock functions is exported.
#pragma once

#include <optional>
#include <string>

#include "core/discover/discovery.h"
#include "core/serve/dispatch.h"
#include "core/serve/raw_clock.h"

namespace vvarclock::doctor {

// Calls RAW by the page readers of a believed page until a line serves it, for two seconds at most.
// Nothing: the page has a raw record. Puts the binding into this process's dispatch table.
std::optional<serve::RawClockStatus> find_raw_line(const discover::Discovery& bound,
                                                   const serve::Functions& readers);

// Two lines for people.
std::string describe(const serve::RawClockStatus& line);

}  // namespace vvarclock::doctor
