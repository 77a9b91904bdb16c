// The kernel's clock source as sysfs and the kernel's command line tell it: which is current, which
// are there to choose.
//
// Everything may be absent (no sysfs in a container): then the strings are empty, and nothing is
// concluded from that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vvarclock::doctor {

struct ClockSource {
  std::string current;
  std::vector<std::string> available;
  std::vector<std::string>
      boot_words;  // what the kernel was booted with about clocks: tsc=..., clocksource=..., notsc
};

// `root` is "" in real life; a test puts a folder there.
ClockSource read_clock_source(const std::string& root);

bool contains(const std::vector<std::string>& words, std::string_view word);
// "a, b, c"; "none" for no words.
std::string join(const std::vector<std::string>& words);

}  // namespace vvarclock::doctor
