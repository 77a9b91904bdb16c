// The loops that are timed: one call or instruction a turn, back to back or inside work.
//
// Nothing in them can be left out: calls go through pointers that the compiler cannot see through,
// instructions are volatile, and the work's results are used.
#pragma once

#include <cstdint>

#include "bench/calls.h"

namespace vvarclock::bench {

enum class Shape : std::uint8_t {
  kBackToBack,
  kLoads,       // between two turns a chain of loads, each of which waits for the one before
  kArithmetic,  // between two turns multiplications that wait for nothing but their own lane
};

inline constexpr std::array<Shape, 3> kShapes{Shape::kBackToBack, Shape::kLoads,
                                              Shape::kArithmetic};
const char* key(Shape shape);    // for JSON
const char* title(Shape shape);  // for people

// `way` counts for calls only.
void run_turns(Shape shape, const Call& call, const Way& way, std::uint32_t turns);

}  // namespace vvarclock::bench
