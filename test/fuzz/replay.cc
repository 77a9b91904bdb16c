// A main for a fuzz target where no fuzzer is wanted: runs it on every file of the folders that are
// given, on each file cut short, and on each with bytes changed by a fixed rule.
//
// A failure is the target's own: it aborts. Status 1 when there was no input.
#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kChanges = 24;
constexpr int kCuts = 8;

Bytes read_file(const std::string& path) {
  Bytes bytes;
  if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
    for (int c = 0; (c = std::fgetc(file)) != EOF;) {
      bytes.push_back(static_cast<std::uint8_t>(c));
    }
    std::fclose(file);
  }
  return bytes;
}

void run(const Bytes& bytes) {
  // A block of its own of just that size: reading beyond it can be seen.
  const Bytes exact(bytes);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::uint32_t next(std::uint32_t& state) {
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

void run_with_changes(const Bytes& bytes) {
  run(bytes);
  for (int i = 0; i < kCuts; ++i) {
    const std::size_t size = bytes.size() * static_cast<std::size_t>(i) / kCuts;
    run(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  std::uint32_t state = 1;
  for (int i = 0; i < kChanges && !bytes.empty(); ++i) {
    Bytes changed = bytes;
    for (int n = 0; n <= i % 3; ++n) {
      changed[next(state) % changed.size()] = static_cast<std::uint8_t>(next(state));
    }
    run(changed);
  }
}

int run_folder(const std::string& path) {
  int count = 0;
  DIR* const folder = opendir(path.c_str());
  for (const dirent* entry = nullptr; folder != nullptr && (entry = readdir(folder)) != nullptr;) {
    if (entry->d_name[0] != '.') {
      run_with_changes(read_file(path + "/" + entry->d_name));
      ++count;
    }
  }
  if (folder != nullptr) {
    closedir(folder);
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    count += run_folder(argv[i]);
  }
  std::printf("%d inputs, each with %d changes and %d cuts\n", count, kChanges, kCuts);
  return count > 0 ? 0 : 1;
}
