// Writing on behalf of a host must not end it.
//
// A write may raise SIGPIPE (a closed pipe) or SIGXFSZ (a file size limit), either of which would
// end the host. While one of these objects lives, both are held back in this thread; one that our
// own write raised is taken away again; one that was pending before stays.
#pragma once

#include <cstdint>

namespace vvarclock::serve {

class HeldSignals {
 public:
  HeldSignals() noexcept;
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  // As the kernel has them, one bit each: libc's sets would be six more names to look up in every
  // program's start.
  std::uint64_t pending_ = 0;
  std::uint64_t before_ = 0;
};

}  // namespace vvarclock::serve
