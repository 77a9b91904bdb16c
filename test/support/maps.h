// What a process has mapped, by /proc/PID/maps.
#pragma once

#include <cinttypes>
#include <climits>
#include <string>
#include <vector>

#include "test/support/process.h"

namespace vvarclock::process {

struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool writable = false;
  bool executable = false;
  std::uintptr_t offset = 0;  // of the file
  std::string name;           // the file's path, or the kernel's word for it, or nothing
};

// `process`: "self" or a number. Empty, and errno says why: they cannot be read.
inline std::vector<Mapping> mappings_of(const std::string& process) {
  std::vector<Mapping> found;
  const std::string path = "/proc/" + process + "/maps";
  std::FILE* const maps = std::fopen(path.c_str(), "re");
  if (maps == nullptr) {
    return found;
  }
  std::array<char, PATH_MAX + 128> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), maps) != nullptr) {
    Mapping mapping;
    std::array<char, 8> rights{};
    int name_at = 0;
    expect(
        std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNxPTR " %*s %*s %n",
                    &mapping.begin, &mapping.end, rights.data(), &mapping.offset, &name_at) == 4 &&
            name_at != 0,
        "a line of %s is not understood: %s", path.c_str(), line.data());
    mapping.writable = rights[1] == 'w';
    mapping.executable = rights[2] == 'x';
    mapping.name = line.data() + name_at;
    if (!mapping.name.empty() && mapping.name.back() == '\n') {
      mapping.name.pop_back();
    }
    found.push_back(mapping);
  }
  std::fclose(maps);
  return found;
}

}  // namespace vvarclock::process
