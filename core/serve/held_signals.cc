#include "core/serve/held_signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "arch/x86/raw_syscall.h"

namespace vvarclock::serve {
namespace {

constexpr int kHeld[] = {SIGPIPE, SIGXFSZ};

constexpr std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << (number - 1); }

long signal_call(long number, long a, const void* b, const void* c) noexcept {
  constexpr long kSetSize = sizeof(std::uint64_t);
  return arch::raw_syscall(number, a, reinterpret_cast<long>(b), reinterpret_cast<long>(c),
                           kSetSize);
}

void take(int number) noexcept {
  const std::uint64_t one = bit(number);
  const timespec at_once{};
  while (signal_call(SYS_rt_sigtimedwait, reinterpret_cast<long>(&one), nullptr, &at_once) ==
         -EINTR) {
  }
}

}  // namespace

HeldSignals::HeldSignals() noexcept {
  std::uint64_t held = 0;
  for (const int number : kHeld) {
    held |= bit(number);
  }
  arch::raw_syscall(SYS_rt_sigpending, reinterpret_cast<long>(&pending_), sizeof pending_);
  signal_call(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before_);
}

HeldSignals::~HeldSignals() {
  for (const int number : kHeld) {
    if ((pending_ & bit(number)) == 0) {
      take(number);
    }
  }
  signal_call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr);
}

}  // namespace vvarclock::serve
