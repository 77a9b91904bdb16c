// Jumps that the machine makes: gaps, suspend, another clock source.
#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "test/kernels/guest/scenarios.h"

namespace guest {
namespace {

constexpr char kCurrentSource[] =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";
constexpr char kOfferedSources[] =
    "/sys/devices/system/clocksource/clocksource0/available_clocksource";
constexpr char kPowerState[] = "/sys/power/state";
constexpr Nanoseconds kLeastGap = 2 * kSecond;  // the harness makes gaps of three

// 0 or errno.
int put(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    return errno;
  }
  const ssize_t size = static_cast<ssize_t>(std::strlen(text));
  const int status = write(file, text, std::strlen(text)) == size ? 0 : errno;
  close(file);
  return status;
}

// Without the line's end; "" when it cannot be read.
std::string get(const char* path) {
  std::array<char, 256> text{};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, text.data(), text.size());
  close(file);
  std::string all(text.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  while (!all.empty() && all.back() == '\n') {
    all.pop_back();
  }
  return all;
}

Nanoseconds slept() noexcept { return by_syscall(CLOCK_BOOTTIME) - by_syscall(CLOCK_MONOTONIC); }

// One suspend, which the harness ends. It must have moved BOOTTIME away from MONOTONIC when
// `must_depart` says so.
void suspend_to(const Stage& stage, const char* state, bool must_depart) {
  std::printf("gap %s\n", state);
  std::fflush(stdout);
  const Nanoseconds before = slept();
  const int error = put(kPowerState, state);
  const Nanoseconds departed = slept() - before;
  if (error != 0) {
    stage.result.fail("suspend to %s: %s", state, std::strerror(error));
  } else if (must_depart && departed < kSecond) {
    stage.result.fail("suspend to %s: BOOTTIME departed from MONOTONIC by %lld ns only", state,
                      static_cast<long long>(departed));
  }
  stage.result.note(std::string("suspend to ") + state + ": BOOTTIME departed by " +
                    std::to_string(departed / kMillisecond) + " ms");
  sleep_for(kSecond);
}

// 32-bit kernels measure the rate of acpi_pm when they boot and refuse it when it seems wrong,
// which it does under an emulator with two CPUs.
bool acpi_pm_is_refused() {
  utsname system{};
  uname(&system);
  return std::strcmp(system.machine, "x86_64") != 0 &&
         get(kOfferedSources).find("acpi_pm") == std::string::npos;
}

}  // namespace

void sleep_for(Nanoseconds length) {
  const timespec time{length / kSecond, static_cast<long>(length % kSecond)};
  nanosleep(&time, nullptr);
}

bool select_clock_source(const char* name) {
  return put(kCurrentSource, name) == 0 && get(kCurrentSource) == name;
}

void lose_time_in_gaps(const Stage& stage) {
  stage.readers.start("gap, stopped by the monitor", Readers::Jumps::kSteps);
  std::puts("gap stop");
  std::fflush(stdout);
  sleep_for(4 * kSecond);
  stage.readers.stop();

  // Here the counter runs on, so the gap must be seen.
  stage.readers.start("gap, emulator stopped", Readers::Jumps::kSteps);
  for (int i = 0; i < 300 && stage.readers.longest_gap() < kLeastGap; ++i) {
    if (i % 100 == 0) {  // again: a serial line that was stopped may hold back what it was given
      std::puts("gap halt");
      std::fflush(stdout);
    }
    sleep_for(100 * kMillisecond);
  }
  sleep_for(kSecond);
  stage.readers.stop();
  if (stage.readers.longest_gap() < kLeastGap) {
    stage.result.fail("gap, emulator stopped: the longest was %lld ns",
                      static_cast<long long>(stage.readers.longest_gap()));
  }
}

void suspend(const Stage& stage) {
  const std::string offered = get(kPowerState);
  const std::string kinds = get("/sys/power/mem_sleep");
  const bool deep =
      offered.find("mem") != std::string::npos && kinds.find("deep") != std::string::npos;
  const bool shallow = offered.find("freeze") != std::string::npos;
  if (!deep && !shallow) {
    stage.result.skip("suspend: this kernel offers none (" + std::string(kPowerState) + ": " +
                      offered + ")");
    return;
  }
  stage.readers.start("suspend", Readers::Jumps::kSteps);
  if (shallow) {
    suspend_to(stage, "freeze", false);  // the kernel may leave its timekeeping running
  }
  if (deep) {
    put("/sys/power/mem_sleep", "deep");
    suspend_to(stage, "mem", true);
  }
  stage.readers.stop();
}

void switch_clock_source(const Stage& stage) {
  std::vector<const char*> sources{"hpet", "tsc"};
  if (acpi_pm_is_refused()) {
    stage.result.skip("clock source acpi_pm: this kernel does not offer it");
  } else {
    sources.insert(sources.end(), {"acpi_pm", "hpet", "acpi_pm", "tsc"});
  }
  const Nanoseconds end = by_syscall(CLOCK_MONOTONIC_RAW) + stage.length;
  unsigned switches = 0;
  stage.readers.start("clock source switched", Readers::Jumps::kSteps);
  while (by_syscall(CLOCK_MONOTONIC_RAW) < end) {
    for (const char* const source : sources) {
      if (!select_clock_source(source)) {
        stage.result.fail("clock source %s cannot be selected", source);
      }
      ++switches;
      sleep_for(60 * kMillisecond);
    }
  }
  stage.readers.stop();
  stage.result.note("clock source switched " + std::to_string(switches) + " times");
}

}  // namespace guest
