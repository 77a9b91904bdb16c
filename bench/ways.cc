#include "bench/ways.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/x86/cpu.h"
#include "core/serve/options.h"

namespace vvarclock::bench {
namespace {

// A copy of the file in memory; -1 and errno on failure. Stays open: the loader knows objects by
// their names, and this number is in the name.
int copy_of(const std::string& path) {
  const int from = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) {
    return -1;
  }
  struct stat status {};
  int to = ::fstat(from, &status) == 0 ? ::memfd_create("libvvarclock", MFD_CLOEXEC) : -1;
  for (off_t at = 0; to >= 0 && at < status.st_size;) {
    if (::sendfile(to, from, &at, static_cast<std::size_t>(status.st_size - at)) <= 0) {
      ::close(to);
      to = -1;
    }
  }
  ::close(from);
  return to;
}

Way load_copy(const std::string& library, const char* order, std::string& error) {
  const int copy = copy_of(library);
  if (copy < 0) {
    error = "cannot copy " + library;
    return {};
  }
  ::setenv("VVARCLOCK_ORDER", order, 1);
  const std::string name = "/proc/self/fd/" + std::to_string(copy);
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    error = "cannot load a copy of " + library + ": " + (why == nullptr ? "?" : why);
    return {};
  }
  return way_of_library(handle);
}

}  // namespace

std::vector<Column> columns() {
  std::vector<Column> all{{"libc", "libc", nullptr}};
  if (arch::has_rdtscp()) {
    all.push_back({"rdtscp", "ours, rdtscp", "rdtscp"});
  }
  all.push_back({"lfence", "ours, lfence", "lfence"});
  all.push_back({"unordered", "ours, unordered", "unordered"});
  all.push_back({"syscall", "system call", nullptr});
  return all;
}

std::size_t ordered_column(const std::vector<Column>& all) {
  const std::string_view wanted =
      arch::name(serve::resolve(serve::OrderChoice::kOrdered, arch::has_rdtscp()));
  std::size_t i = 0;
  while (i + 1 < all.size() && all[i].key != wanted) {
    ++i;
  }
  return i;
}

std::vector<Way> load_ways(const std::vector<Column>& all, const std::string& library,
                           std::string& error) {
  // The defaults are measured, whatever the caller's environment says.
  for (const serve::OptionRow& option : serve::option_table()) {
    ::unsetenv(option.variable);
  }
  std::vector<Way> ways;
  for (const Column& column : all) {
    const std::string_view key = column.key;
    ways.push_back(key == "libc"      ? libc_way()
                   : key == "syscall" ? syscall_way()
                                      : load_copy(library, column.order, error));
    if (error.empty() && !ways.back().complete()) {
      error = std::string(column.title) + ": a function is missing";
    }
    if (!error.empty()) {
      return {};
    }
  }
  return ways;
}

}  // namespace vvarclock::bench
