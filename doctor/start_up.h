// What the library costs a program's start, step by step: the doctor starts itself anew under the
// library, which reports what the counter said while it attached.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/measure.h"

namespace vvarclock::doctor {

// The steps as the report names them, in their order.
inline constexpr std::array<const char*, 6> kStartUpSteps{"options", "image", "parse",
                                                          "scan",    "probe", "attach"};

// The argument with which the doctor ends at once.
inline constexpr const char* kJustStart = "--just-start";

using StepCycles = std::array<std::uint64_t, kStartUpSteps.size()>;

// From a report in JSON; false: it has no such member, or nothing was timed.
bool read_step_cycles(std::string_view report, StepCycles& cycles);

struct StartUp {
  std::vector<Figure> steps;  // us each; empty when they could not be timed
  double faults = 0;  // page faults that attaching adds to those of the loaded, idle library
};

// Starts `program` so often, with the environment of this process, and as often with the library
// switched off. tsc_hz: counter units a second.
StartUp time_start_up(const std::string& program, int starts, double tsc_hz);

}  // namespace vvarclock::doctor
