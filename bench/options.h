// The program's arguments: one pure parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vvarclock::bench {

struct Options {
  bool quick = false;
  bool help = false;
  bool worker = false;              // internal: one pass, its samples to standard output
  std::string library;              // of libvvarclock.so
  std::string json;                 // file; empty: none
  std::string plot;                 // likewise
  std::vector<std::size_t> wanted;  // indices in kCalls; empty: all
};

// What is wrong with the words, or nothing.
std::string parse_options(std::span<char* const> words, Options& options);

extern const char* const kUsage;

}  // namespace vvarclock::bench
