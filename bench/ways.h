// The ways that are compared, and the loading of the library once for each order.
#pragma once

#include <string>
#include <vector>

#include "bench/calls.h"

namespace vvarclock::bench {

// A column of every table.
struct Column {
  const char* key;    // for JSON
  const char* title;  // for people
  const char* order;  // VVARCLOCK_ORDER of a copy of the library; null: not ours
};

// libc first, the system call last, ours between them in every order that this CPU has.
std::vector<Column> columns();
inline constexpr std::size_t kLibc = 0;

// Where what "ordered" means on this CPU is in columns().
std::size_t ordered_column(const std::vector<Column>& all);

// The functions of each column. Ours are the exported ones of the library itself, in copies in
// memory of which each attaches with its own order: the order is chosen once per loaded library,
// and the loader takes the same file twice for one. What cannot be had is said in `error`.
std::vector<Way> load_ways(const std::vector<Column>& all, const std::string& library,
                           std::string& error);

}  // namespace vvarclock::bench
