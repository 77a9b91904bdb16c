// Proof that the preloaded library is active in this process, and of what it serves.
//
// Two independent looks: whose code the name clock_gettime leads to, and which calls still succeed
// in a child process in which the kernel refuses every clock system call (a seccomp filter). The
// second needs a kernel that allows such a filter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/calls.h"

namespace vvarclock::doctor {

struct Library {
  std::string path;      // of the loaded libvvarclock.so; empty: it is not loaded
  std::string answerer;  // the file whose code a call of clock_gettime reaches
  bool first = false;    // the answerer is our library
};

Library find_library();

// Bit i: kCalls[i] succeeds without a system call. Nothing: this kernel or container does not allow
// the filter.
std::optional<std::uint32_t> calls_without_syscall(const Way& way);

}  // namespace vvarclock::doctor
