// Catch2 of either major version: every test includes this and nothing of Catch2 itself.
//
// Version 2 is one header and needs a main of ours (catch_main.cc, one per executable); version 3
// is a library with a main. Checks inside long loops compare first and assert only what differs,
// because an assertion costs a microsecond.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace vvarclock::test {

// Says why a test cannot be run here; the caller returns. Version 2 knows no skipped tests, so both
// versions print the same words, which scripts can count: "skipped: <reason>".
inline void skip(const std::string& reason) { WARN("skipped: " << reason); }

}  // namespace vvarclock::test
