// vvarclock-doctor: the program behind `vvarclock --doctor`, which runs it under the preloaded
// library.
//
// Finds the page by itself with more effort than attaching takes, proves whether the library is
// active here, measures, and advises. Exit status: 0 every clock by the reader, 1 some by the
// kernel, 2 none served, the worst of both widths where both are examined; 64 wrong usage.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/serve/message.h"
#include "doctor/examination.h"
#include "doctor/other_width.h"

int main(int count, char** arguments) {
  constexpr int kWrongUsage = 64;
  constexpr std::string_view kOther = "--other=";  // the wrapper's: the doctor of the other width
  static vvarclock::doctor::Examination all;
  bool json = false;
  if (count == 2 && std::string_view(arguments[1]) == vvarclock::doctor::kJustStart) {
    return 0;
  }
  all.program = arguments[0];
  const char* other_doctor = nullptr;
  std::vector<std::string> options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with(kOther) && other_doctor == nullptr) {
      other_doctor = arguments[i] + kOther.size();
      continue;
    }
    bool* const wanted = word == "--json" ? &json : word == "--hex" ? &all.wants_hex : nullptr;
    if (wanted == nullptr || *wanted) {
      vvarclock::serve::say("Usage: vvarclock --doctor [--json] [--hex]");
      return kWrongUsage;
    }
    *wanted = true;
    options.emplace_back(word);
  }
  vvarclock::doctor::examine(all);
  json ? vvarclock::doctor::print_json(all) : vvarclock::doctor::print_text(all);
  const int status = vvarclock::doctor::exit_status(all.clocks);
  const int other_status =
      other_doctor == nullptr ? status
                              : vvarclock::doctor::examine_other_width(other_doctor, options, json);
  return std::max(status, other_status);
}
