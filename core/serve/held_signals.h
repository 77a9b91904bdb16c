// Writing on behalf of a host must not end it.
//
// A write may raise SIGPIPE (a closed pipe) or SIGXFSZ (a file size limit), either of which would
// end the host. While one of these objects lives, both are held back in this thread; one that our
// own write raised is taken away again; one that was pending before stays. errno may change.
#pragma once

#include <signal.h>

namespace vvarclock::serve {

class HeldSignals {
 public:
  HeldSignals() noexcept;
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t pending_{};
  sigset_t before_{};
};

}  // namespace vvarclock::serve
