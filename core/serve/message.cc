#include "core/serve/message.h"

#include <errno.h>
#include <unistd.h>

#include "core/serve/held_signals.h"

namespace vvarclock::serve {

void write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      return;  // a closed or full standard error is the host's wish
    }
  }
}

void say(std::string_view text) noexcept {
  TextBuffer<512> line;
  line << "vvarclock: " << text.substr(0, 480) << '\n';
  const HeldSignals held;  // standard error may be a pipe that nobody reads
  write_all(STDERR_FILENO, line.view());
}

}  // namespace vvarclock::serve
