#include "core/serve/options.h"

#include <string_view>

namespace vvarclock::serve {
namespace {

struct Choice {
  std::string_view value;
  std::uint8_t number;
};

constexpr std::uint8_t number(auto value) noexcept { return static_cast<std::uint8_t>(value); }

constexpr std::array<Choice, 6> kOnOff{
    {{"on", 1}, {"off", 0}, {"1", 1}, {"0", 0}, {"yes", 1}, {"no", 0}}};
constexpr std::array<Choice, 4> kOrders{{
    {"ordered", number(OrderChoice::kOrdered)},
    {"unordered", number(OrderChoice::kUnordered)},
    {"lfence", number(OrderChoice::kLfence)},
    {"rdtscp", number(OrderChoice::kRdtscp)},
}};
constexpr std::array<Choice, 3> kSources{{
    {"auto", number(Source::kAuto)},
    {"vvar", number(Source::kVvar)},
    {"syscall", number(Source::kSyscall)},
}};
constexpr std::array<Choice, 2> kRaws{{
    {"auto", number(RawChoice::kAuto)},
    {"syscall", number(RawChoice::kSyscall)},
}};
constexpr std::array<Choice, 3> kReports{{
    {"0", number(ReportChoice::kNone)},
    {"1", number(ReportChoice::kStderr)},
    {"json", number(ReportChoice::kJson)},
}};

enum Row : std::uint8_t { kRowOn, kRowOrder, kRowSource, kRowRaw, kRowReport };

constexpr std::array<OptionRow, 5> kTable{{
    {"VVARCLOCK", "on, off", "on", "off: every call is a system call, nothing is looked for"},
    {"VVARCLOCK_ORDER", "ordered, unordered, lfence, rdtscp", "ordered",
     "may the counter read pass earlier loads? ordered: never (rdtscp where the CPU has it, else "
     "lfence)"},
    {"VVARCLOCK_SOURCE", "auto, vvar, syscall", "auto",
     "who answers, for comparing: the page where it is believed, or always the system call"},
    {"VVARCLOCK_RAW", "auto, syscall", "auto",
     "CLOCK_MONOTONIC_RAW where the page has no record of it (kernels before 5.3): by a line in "
     "the "
     "counter, or always by the system call"},
    {"VVARCLOCK_REPORT", "1, json, or a file path", "none",
     "say what was found: on standard error, as JSON, or appended to a file"},
}};

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) {
      return false;
    }
  }
  return true;
}

const Choice* find(std::span<const Choice> choices, std::string_view value) noexcept {
  for (const Choice& choice : choices) {
    if (equal_ignoring_case(choice.value, value)) {
      return &choice;
    }
  }
  return nullptr;
}

// The number chosen by the variable of `row`, or `fallback` when it is unset, empty or (recorded)
// unknown.
std::uint8_t choose(Options& options, Row row, std::span<const Choice> choices,
                    std::uint8_t fallback, const char* value) noexcept {
  if (value == nullptr || *value == '\0') {
    return fallback;
  }
  if (const Choice* const choice = find(choices, value)) {
    return choice->number;
  }
  options.bad[options.bad_count++] = {kTable[row].variable, value, kTable[row].fallback};
  return fallback;
}

// Anything with a slash is a path; a bare word could be a misspelt choice.
bool is_path(const char* value) noexcept {
  return value != nullptr && std::string_view(value).find('/') != std::string_view::npos;
}

}  // namespace

std::span<const OptionRow> option_table() noexcept { return kTable; }

Options parse_options(const char* (*lookup)(const char* variable)) noexcept {
  Options options;
  const auto row = [&](Row which, std::span<const Choice> choices, auto fallback) {
    return choose(options, which, choices, number(fallback), lookup(kTable[which].variable));
  };
  options.on = row(kRowOn, kOnOff, true) != 0;
  options.order = static_cast<OrderChoice>(row(kRowOrder, kOrders, options.order));
  options.source = static_cast<Source>(row(kRowSource, kSources, options.source));
  options.raw = static_cast<RawChoice>(row(kRowRaw, kRaws, options.raw));
  const char* const report = lookup(kTable[kRowReport].variable);
  if (is_path(report)) {
    options.report = ReportChoice::kFile;
    options.report_path = report;
  } else {
    options.report = static_cast<ReportChoice>(row(kRowReport, kReports, options.report));
  }
  return options;
}

arch::Ordering resolve(OrderChoice choice, bool cpu_has_rdtscp) noexcept {
  switch (choice) {
    case OrderChoice::kUnordered:
      return arch::Ordering::kUnordered;
    case OrderChoice::kLfence:
      return arch::Ordering::kLfence;
    case OrderChoice::kOrdered:
    case OrderChoice::kRdtscp:
      break;
  }
  return cpu_has_rdtscp ? arch::Ordering::kRdtscp : arch::Ordering::kLfence;
}

const char* name(OrderChoice choice) noexcept { return kOrders[number(choice)].value.data(); }
const char* name(Source source) noexcept { return kSources[number(source)].value.data(); }

}  // namespace vvarclock::serve
