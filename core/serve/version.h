// The version, as the build's project() names it; test/doctor holds the two against each other.
#pragma once

namespace vvarclock::serve {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace vvarclock::serve
