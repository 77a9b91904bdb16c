#include "core/serve/held_signals.h"

#include <errno.h>
#include <time.h>

namespace vvarclock::serve {
namespace {

constexpr int kHeld[] = {SIGPIPE, SIGXFSZ};

void take(int number) noexcept {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, number);
  const timespec at_once{};
  while (::sigtimedwait(&one, nullptr, &at_once) < 0 && errno == EINTR) {
  }
}

}  // namespace

HeldSignals::HeldSignals() noexcept {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int number : kHeld) {
    ::sigaddset(&held, number);
  }
  ::sigpending(&pending_);
  ::sigprocmask(SIG_BLOCK, &held, &before_);
}

HeldSignals::~HeldSignals() {
  for (const int number : kHeld) {
    if (::sigismember(&pending_, number) == 0) {
      take(number);
    }
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace vvarclock::serve
