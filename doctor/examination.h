// Everything that the doctor finds, and the finding of it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "arch/ordering.h"
#include "core/discover/discovery.h"
#include "core/serve/options.h"
#include "core/serve/raw_clock.h"
#include "core/serve/report.h"
#include "doctor/advice.h"
#include "doctor/calls.h"
#include "doctor/clock_source.h"
#include "doctor/library.h"
#include "doctor/measure.h"
#include "doctor/page_state.h"
#include "doctor/start_up.h"

namespace vvarclock::doctor {

struct Clock {
  const char* name;
  std::string served_by;  // reader, line or syscall, as serve::word has it
  std::string reason;     // why not the reader
};

// A row of figures; absent where there is no such way, or it may not be tried.
struct Price {
  const char* name;
  std::optional<Figure> ours;
  std::optional<Figure> vdso;
  std::optional<Figure> syscall;
};

struct Examination {
  std::string kernel;  // as uname has it
  std::string machine;
  Library library;
  serve::Options options;
  discover::Discovery found;
  arch::Ordering ordering = arch::Ordering::kLfence;
  bool counter_allowed = true;
  bool attached = false;  // the library serves from the page
  bool seen = false;      // who serves was observed, not only concluded
  std::vector<Page> pages;
  bool wants_hex = false;
  std::vector<std::byte> head;  // of the data page, when asked for
  ClockSource source;
  bool has_rdtscp = false;
  bool has_invariant_tsc = false;
  std::string hypervisor;
  std::vector<Clock> clocks;
  std::optional<serve::RawClockStatus> raw_line;  // where the page has no raw record
  std::vector<Price> prices;
  std::vector<Figure> counters;
  std::string program;  // the doctor's own file, to be started anew
  StartUp start_up;     // what attaching costs
  std::vector<std::string> advice;

  // The readers as the library has them. There must be a binding.
  [[nodiscard]] serve::Functions readers() const {
    const arch::ClockMode mode = serve::mode_to_want(found.binding, serve::clock_mode_now(found));
    return serve::page_readers(found.layout->block, {ordering, counter_allowed, mode});
  }
  [[nodiscard]] serve::Report report() const {
    return {&found, &options, ordering, counter_allowed, attached};
  }
};

void examine(Examination& all);

// 0: every clock served by us; 1: some by the kernel; 2: none served.
int exit_status(const std::vector<Clock>& clocks);

void print_text(const Examination& all);
void print_json(const Examination& all);

}  // namespace vvarclock::doctor
