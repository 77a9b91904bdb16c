#include "bench/pass.h"

#include <errno.h>
#include <unistd.h>

#include <cstring>

namespace vvarclock::bench {
namespace {

using Lists = std::vector<std::vector<double>>;

bool write_all(int descriptor, const void* from, std::size_t size) {
  const auto* at = static_cast<const char*>(from);
  while (size != 0) {
    const ssize_t written = ::write(descriptor, at, size);
    if (written < 0 && errno != EINTR) {
      return false;
    }
    if (written > 0) {
      at += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  return true;
}

std::vector<char> read_all(int descriptor) {
  std::vector<char> bytes;
  for (;;) {
    char part[65536];
    const ssize_t got = ::read(descriptor, part, sizeof(part));
    if (got > 0) {
      bytes.insert(bytes.end(), part, part + got);
    } else if (got == 0 || errno != EINTR) {
      return bytes;
    }
  }
}

// Lists of numbers, each with its length before it.
Lists take_apart(const std::vector<char>& bytes) {
  Lists lists;
  for (std::size_t at = 0; bytes.size() - at >= sizeof(std::uint64_t);) {
    std::uint64_t length;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    at += sizeof(length);
    if (length > (bytes.size() - at) / sizeof(double)) {
      return {};
    }
    std::vector<double>& list = lists.emplace_back(length);
    if (length != 0) {
      std::memcpy(list.data(), bytes.data() + at, length * sizeof(double));
    }
    at += length * sizeof(double);
  }
  return lists;
}

}  // namespace

bool send(const Pass& pass, int descriptor) {
  Lists lists{{pass.tsc_hz}};
  lists.insert(lists.end(), pass.cycles.begin(), pass.cycles.end());
  for (const Histogram& tail : pass.tails) {
    lists.push_back(tail.store());
  }
  lists.insert(lists.end(), pass.throughput.begin(), pass.throughput.end());
  for (const std::vector<double>& list : lists) {
    const std::uint64_t length = list.size();
    if (!write_all(descriptor, &length, sizeof(length)) ||
        !write_all(descriptor, list.data(), length * sizeof(double))) {
      return false;
    }
  }
  return true;
}

std::optional<Pass> receive(const Plan& plan, int descriptor) {
  const Lists lists = take_apart(read_all(descriptor));
  const std::size_t subjects = plan.subjects.size();
  const std::size_t tails = plan.columns.size() + 1;
  const std::size_t throughputs = plan.threads.size() * plan.columns.size();
  if (lists.size() != 1 + subjects + tails + throughputs || lists[0].size() != 1 ||
      !(lists[0][0] > 0)) {
    return std::nullopt;
  }
  Pass pass;
  pass.tsc_hz = lists[0][0];
  const auto first = lists.begin() + 1;
  const auto tail = first + static_cast<std::ptrdiff_t>(subjects);
  const auto threads = tail + static_cast<std::ptrdiff_t>(tails);
  pass.cycles.assign(first, tail);
  for (auto at = tail; at != threads; ++at) {
    pass.tails.emplace_back(*at);
  }
  pass.throughput.assign(threads, lists.end());
  return pass;
}

}  // namespace vvarclock::bench
