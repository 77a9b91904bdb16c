#include "doctor/calls.h"

#include <dlfcn.h>

#include "core/serve/fallback.h"

namespace vvarclock::doctor {
namespace {

template <class F>
F function_at(const discover::VdsoImage& image, const discover::Function& function) {
  return function.size == 0
             ? nullptr
             : reinterpret_cast<F>(reinterpret_cast<std::uintptr_t>(image.bytes.data()) +
                                   function.offset);
}

Way way_of(void* library) {
  Way way;
  way.clock_gettime =
      reinterpret_cast<decltype(way.clock_gettime)>(::dlsym(library, "clock_gettime"));
  way.gettimeofday = reinterpret_cast<decltype(way.gettimeofday)>(::dlsym(library, "gettimeofday"));
  way.time = reinterpret_cast<decltype(way.time)>(::dlsym(library, "time"));
  way.clock_getres = reinterpret_cast<decltype(way.clock_getres)>(::dlsym(library, "clock_getres"));
  return way;
}

}  // namespace

Way program_way() { return way_of(RTLD_DEFAULT); }

Way libc_way() {
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return libc == nullptr ? Way{} : way_of(libc);
}

Way vdso_way(const discover::VdsoImage& image) {
  Way way;
  way.clock_gettime = function_at<decltype(way.clock_gettime)>(image, image.clock_gettime);
  way.gettimeofday = function_at<decltype(way.gettimeofday)>(image, image.gettimeofday);
  way.time = function_at<decltype(way.time)>(image, image.time);
  way.clock_getres = function_at<decltype(way.clock_getres)>(image, image.clock_getres);
  return way;
}

Way reader_way(const serve::Functions& functions) {
  return {functions.own.clock_gettime, functions.own.gettimeofday, functions.own.time,
          functions.own.clock_getres};
}

Way syscall_way() {
  using Kernel = serve::fallback::For<serve::OwnWidth>;
  return {Kernel::clock_gettime, Kernel::gettimeofday, Kernel::time, Kernel::clock_getres};
}

bool has(const Way& way, const Call& call) {
  switch (call.form) {
    case Form::kClockGettime:
      return way.clock_gettime != nullptr;
    case Form::kGettimeofday:
      return way.gettimeofday != nullptr;
    case Form::kTime:
      return way.time != nullptr;
    case Form::kClockGetres:
      return way.clock_getres != nullptr;
  }
  return false;
}

bool succeeds(const Way& way, const Call& call) {
  timespec time{};
  timeval day{};
  const auto id = static_cast<clockid_t>(call.id);
  switch (call.form) {
    case Form::kClockGettime:
      return way.clock_gettime(id, &time) == 0;
    case Form::kGettimeofday:
      return way.gettimeofday(&day, nullptr) == 0;
    case Form::kTime:
      return way.time(nullptr) > 0;
    case Form::kClockGetres:
      return way.clock_getres(id, &time) == 0;
  }
  return false;
}

std::function<void(std::uint32_t)> repeated(const Way& way, const Call& call) {
  const auto id = static_cast<clockid_t>(call.id);
  switch (call.form) {
    case Form::kClockGettime:
      return [id, f = way.clock_gettime](std::uint32_t calls) {
        for (timespec time{}; calls != 0; --calls) {
          f(id, &time);
        }
      };
    case Form::kGettimeofday:
      return [f = way.gettimeofday](std::uint32_t calls) {
        for (timeval day{}; calls != 0; --calls) {
          f(&day, nullptr);
        }
      };
    case Form::kTime:
      return [f = way.time](std::uint32_t calls) {
        for (; calls != 0; --calls) {
          f(nullptr);
        }
      };
    case Form::kClockGetres:
      break;
  }
  return [id, f = way.clock_getres](std::uint32_t calls) {
    for (timespec resolution{}; calls != 0; --calls) {
      f(id, &resolution);
    }
  };
}

}  // namespace vvarclock::doctor
