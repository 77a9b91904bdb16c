// What to do about what was found, in plain words: a pure function of the situation.
//
// Each piece is a whole sentence or a few. Nothing here reads the machine.
#pragma once

#include <string>
#include <vector>

#include "arch/ordering.h"
#include "arch/x86/clock_mode.h"
#include "core/discover/discovery.h"
#include "core/serve/options.h"
#include "core/serve/report.h"
#include "doctor/clock_source.h"
#include "doctor/library.h"

namespace vvarclock::doctor {

struct Situation {
  Library library;
  discover::Outcome outcome = discover::Outcome::kNoVdso;
  discover::ImageError image_error = discover::ImageError::kNone;
  serve::Service fine_clocks = serve::Service::kNoLayout;  // who answers CLOCK_MONOTONIC, and why
  arch::ClockMode mode = arch::kModeNone;
  serve::OrderChoice order = serve::OrderChoice::kOrdered;  // asked for
  bool has_rdtscp = false;
  bool has_invariant_tsc = false;
  std::string hypervisor;  // CPUID signature; empty: none
  ClockSource source;
};

std::vector<std::string> advise(const Situation& situation);

// The part about clock mode none: which source is current, what could be had by switching, at what
// risk.
std::vector<std::string> advise_on_clock_source(const Situation& situation);

}  // namespace vvarclock::doctor
