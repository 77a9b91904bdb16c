// vvarclock-doctor: the program behind `vvarclock --doctor`, which runs it under the preloaded
// library.
//
// Finds the page by itself with more effort than attaching takes, proves whether the library is
// active here, measures, and advises. Exit status: 0 every clock by the reader, 1 some by the
// kernel, 2 none served; 64 wrong usage.
#include <string_view>

#include "core/serve/message.h"
#include "doctor/examination.h"

int main(int count, char** arguments) {
  constexpr int kWrongUsage = 64;
  static vvarclock::doctor::Examination all;
  bool json = false;
  if (count == 2 && std::string_view(arguments[1]) == vvarclock::doctor::kJustStart) {
    return 0;
  }
  all.program = arguments[0];
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    bool* const wanted = word == "--json" ? &json : word == "--hex" ? &all.wants_hex : nullptr;
    if (wanted == nullptr || *wanted) {
      vvarclock::serve::say("Usage: vvarclock --doctor [--json] [--hex]");
      return kWrongUsage;
    }
    *wanted = true;
  }
  vvarclock::doctor::examine(all);
  json ? vvarclock::doctor::print_json(all) : vvarclock::doctor::print_text(all);
  return vvarclock::doctor::exit_status(all.clocks);
}
