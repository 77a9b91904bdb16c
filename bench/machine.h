// Where the figures were taken, in words: without it they mean nothing.
#pragma once

#include <string>
#include <vector>

#include "bench/calls.h"

namespace vvarclock::bench {

struct Machine {
  std::string kernel;
  std::string cpu;
  std::string hypervisor;  // CPUID signature; empty: none
  std::size_t cpus = 0;    // that this process may use
  std::string libc;
  std::string clock_source;  // as sysfs has it; empty: not told
  std::string clock_mode;    // what the page says; empty: no page is believed
  std::string layout;
  bool has_rdtscp = false;
  bool has_invariant_tsc = false;
  std::string ordered;                  // the instructions that "ordered" means here
  std::vector<std::string> by_syscall;  // calls that ours passes on to the kernel here
};

// `ours`: any of our orders.
Machine look_at_machine(const Way& ours);

}  // namespace vvarclock::bench
