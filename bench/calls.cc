#include "bench/calls.h"

#include <dlfcn.h>
#include <strings.h>

#include <string>

#include "core/serve/fallback.h"

namespace vvarclock::bench {

std::size_t find_call(std::string_view name) {
  const std::string asked(name);
  const std::string longer = "CLOCK_" + asked;
  std::size_t i = 0;
  while (i < kCalls.size() && ::strcasecmp(kCalls[i].name, asked.c_str()) != 0 &&
         ::strcasecmp(kCalls[i].name, longer.c_str()) != 0) {
    ++i;
  }
  return i;
}

Way way_of_library(void* handle) {
  Way way;
  const auto find = [handle]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(handle, name));
  };
  find(way.clock_gettime, "clock_gettime");
  find(way.gettimeofday, "gettimeofday");
  find(way.time, "time");
  find(way.timespec_get, "timespec_get");
  find(way.clock_getres, "clock_getres");
  return way;
}

Way libc_way() {
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return libc == nullptr ? Way{} : way_of_library(libc);
}

Way syscall_way() {
  using Kernel = serve::fallback::For<serve::OwnWidth>;
  return {Kernel::clock_gettime, Kernel::gettimeofday, Kernel::time, Kernel::timespec_get,
          Kernel::clock_getres};
}

}  // namespace vvarclock::bench
