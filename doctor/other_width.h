// Programs of the other width on this machine: their library is another one, and so are their vDSO
// and their prices. The doctor of that width examines them.
#pragma once

#include <string>
#include <vector>

namespace vvarclock::doctor {

inline constexpr int kBits = static_cast<int>(8 * sizeof(void*));
inline constexpr int kOtherBits = kBits == 64 ? 32 : 64;

// Runs that doctor in this process's environment, with these options, its output after ours. Its
// exit status, which is the worse for a machine that serves less; 0 when this kernel does not run
// programs of that width, which is said in the form that the options ask for.
int examine_other_width(const char* program, const std::vector<std::string>& options, bool json);

}  // namespace vvarclock::doctor
