#include "doctor/raw_line.h"

#include "core/serve/raw_reader.h"
#include "core/serve/report.h"

namespace vvarclock::doctor {

std::optional<serve::RawClockStatus> find_raw_line(const discover::Discovery& bound,
                                                   const serve::Functions& readers) {
  if (vvar::block_layout(bound.layout->block).has_raw_block()) {
    return {};
  }
  constexpr int kCalls = 2000;
  constexpr timespec kPause{0, 1'000'000};
  serve::dispatch.binding = bound.binding;
  serve::begin_raw_clock(bound.binding, bound.layout->block, serve::clock_mode_now(bound));
  for (int call = 0; call < kCalls; ++call) {
    timespec time{};
    readers.own.clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    if (serve::raw_clock.status().state == serve::RawState::kServing) {
      break;
    }
    ::nanosleep(&kPause, nullptr);
  }
  return serve::raw_clock.status();
}

std::string describe(const serve::RawClockStatus& line) {
  std::string text = std::string("raw clock by a line in the counter: ") + serve::name(line.state);
  if (line.state == serve::RawState::kServing) {
    text += ", never further than " + std::to_string(line.bound) + " ns from the kernel's; mult " +
            std::to_string(line.mult) + ", shift " + std::to_string(line.shift) + ", ticks " +
            (!line.knows_kind ? "exact or rounded"
             : line.rounds    ? "rounded"
                              : "exact");
  }
  return text + "\n  learnt from " + std::to_string(line.samples) +
         " system calls, checked by another every " + std::to_string(line.recheck / 1'000'000) +
         " ms, contradicted " + std::to_string(line.contradictions) + " times\n";
}

}  // namespace vvarclock::doctor
