#include "doctor/clock_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace vvarclock::doctor {
namespace {

constexpr std::string_view kFolder = "/sys/devices/system/clocksource/clocksource0/";

// Small files of sysfs and procfs; empty when it cannot be read.
std::string read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return {};
  }
  std::array<char, 4096> bytes{};
  const ssize_t size = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  return size > 0 ? std::string(bytes.data(), static_cast<std::size_t>(size)) : std::string();
}

std::vector<std::string> words_of(const std::string& text) {
  constexpr std::string_view kSpace = " \t\n";
  std::vector<std::string> words;
  std::size_t at = text.find_first_not_of(kSpace);
  while (at != std::string::npos) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpace, end);
  }
  return words;
}

bool is_about_clocks(std::string_view word) {
  return word == "notsc" || word == "nohpet" || word.starts_with("tsc=") ||
         word.starts_with("clocksource=") || word.starts_with("hpet=") || word == "no-kvmclock" ||
         word == "no-kvmclock-vsyscall";
}

}  // namespace

ClockSource read_clock_source(const std::string& root) {
  ClockSource source;
  const std::string folder = root + std::string(kFolder);
  if (const auto current = words_of(read_file(folder + "current_clocksource")); !current.empty()) {
    source.current = current.front();
  }
  source.available = words_of(read_file(folder + "available_clocksource"));
  for (const std::string& word : words_of(read_file(root + "/proc/cmdline"))) {
    if (is_about_clocks(word)) {
      source.boot_words.push_back(word);
    }
  }
  return source;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? word : ", " + word;
  }
  return text.empty() ? "none" : text;
}

}  // namespace vvarclock::doctor
