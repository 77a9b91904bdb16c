// How many calls per second several threads make together.
//
// Each thread has a CPU of its own as long as there are enough, and counts its own calls; nothing
// is shared while they call but the flag that ends it. The seconds are each thread's processor
// time, so that a neighbour who takes a CPU away for a while does not pass for a cost of sharing.
#pragma once

#include <cstdint>

#include "bench/calls.h"

namespace vvarclock::bench {

struct Crowd {
  unsigned threads;
  std::uint32_t ns;  // how long they call
};

// 0 when a thread cannot be started.
double calls_per_second(const Crowd& crowd, const Call& call, const Way& way);

}  // namespace vvarclock::bench
