// The environment variables: one table, one pure parser.
//
// Names and values are compared without regard to case in the values. An unknown value takes the
// safe default and is recorded, so that attach can say so once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "arch/ordering.h"

namespace vvarclock::serve {

enum class Source : std::uint8_t {
  kAuto,     // the page where it is believed, the system call elsewhere
  kVvar,     // the same, and say so when the page cannot be used
  kSyscall,  // the system call for everything, for comparing
};

// CLOCK_MONOTONIC_RAW where the page has no record of it (kernels before 5.3); of no effect
// elsewhere.
enum class RawChoice : std::uint8_t {
  kAuto,     // by a line in the counter, within a stated bound: raw_clock.h
  kSyscall,  // by the system call, always
};

enum class OrderChoice : std::uint8_t {
  kOrdered,  // rdtscp where the CPU has it, else lfence
  kUnordered,
  kLfence,
  kRdtscp,
};

enum class ReportChoice : std::uint8_t { kNone, kStderr, kJson, kFile };

struct BadValue {
  const char* variable;
  const char* value;
  const char* taken;  // the default that is in effect instead
};

struct Options {
  bool on = true;
  OrderChoice order = OrderChoice::kOrdered;
  Source source = Source::kAuto;
  RawChoice raw = RawChoice::kAuto;
  ReportChoice report = ReportChoice::kNone;
  const char* report_path = nullptr;  // for kFile; points into the environment
  std::array<BadValue, 5> bad{};
  std::size_t bad_count = 0;
};

// One row of the table, also for help texts and the README's list.
struct OptionRow {
  const char* variable;
  const char* values;
  const char* fallback;  // value in effect when unset or unknown
  const char* help;
};
std::span<const OptionRow> option_table() noexcept;

// How every variable begins.
inline constexpr std::string_view kVariablePrefix = "VVARCLOCK";

// Pure but for `lookup`, which returns a value or null (secure_getenv in real life).
Options parse_options(const char* (*lookup)(const char* variable)) noexcept;

// The instruction sequence for a choice on a CPU with or without rdtscp. A choice of rdtscp on a
// CPU without it becomes lfence.
arch::Ordering resolve(OrderChoice choice, bool cpu_has_rdtscp) noexcept;

const char* name(OrderChoice choice) noexcept;
const char* name(Source source) noexcept;

}  // namespace vvarclock::serve
