#include "bench/options.h"

#include <algorithm>
#include <string_view>

#include "bench/calls.h"

namespace vvarclock::bench {
namespace {

std::string want_call(const std::string& name, Options& options) {
  const std::size_t call = find_call(name);
  if (call == kCalls.size()) {
    std::string known;
    for (const Call& each : kCalls) {
      known += known.empty() ? each.name : std::string(", ") + each.name;
    }
    return "--id takes one of " + known + "; not '" + name + "'";
  }
  if (std::find(options.wanted.begin(), options.wanted.end(), call) == options.wanted.end()) {
    options.wanted.push_back(call);
  }
  return {};
}

// The switch of that name, or null.
bool* find_switch(std::string_view name, Options& options) {
  return name == "--quick"    ? &options.quick
         : name == "--help"   ? &options.help
         : name == "--worker" ? &options.worker
                              : nullptr;
}

// The text option of that name, or null.
std::string* find_text(std::string_view name, Options& options) {
  return name == "--json"      ? &options.json
         : name == "--plot"    ? &options.plot
         : name == "--library" ? &options.library
                               : nullptr;
}

std::string take_value(std::string_view name, const std::string& value, Options& options) {
  if (value.empty()) {
    return std::string(name) + " needs a value";
  }
  if (name == "--id") {
    return want_call(value, options);
  }
  *find_text(name, options) = value;
  return {};
}

}  // namespace

const char* const kUsage =
    "Usage: vvarclock --bench [--quick] [--id NAME]... [--json FILE] [--plot FILE.svg]\n"
    "\n"
    "Measures what every clock call costs here: libc without vvarclock, vvarclock in every order,\n"
    "and the system call, side by side in several fresh processes.\n"
    "\n"
    "  --quick         about 3 s instead of 20 to 30; figures are less steady\n"
    "  --id NAME       only this clock or function (MONOTONIC, gettimeofday, ...); may be "
    "repeated\n"
    "  --json FILE     write every figure to a file\n"
    "  --plot FILE     draw bars, tails and threads into an SVG file; needs gnuplot\n"
    "\n"
    "Status: 0 measured; 1 not measured, or a file was not written; 125 wrong usage.\n";

std::string parse_options(std::span<char* const> words, Options& options) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (bool* const on = find_switch(word, options)) {
      *on = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (name != "--id" && find_text(name, options) == nullptr) {
      return "unknown option '" + std::string(word) + "'";
    }
    if (equals == std::string_view::npos && i + 1 == words.size()) {
      return std::string(name) + " needs a value";
    }
    const std::string value =
        equals == std::string_view::npos ? words[++i] : std::string(word.substr(equals + 1));
    if (std::string wrong = take_value(name, value, options); !wrong.empty()) {
      return wrong;
    }
  }
  // In the order of the table, whatever order they were named in.
  std::sort(options.wanted.begin(), options.wanted.end());
  return {};
}

}  // namespace vvarclock::bench
