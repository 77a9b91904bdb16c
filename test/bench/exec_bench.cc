// What the library costs a program's start: exec of /bin/true under it against the same under an
// empty preloaded library.
//
// Usage: exec_bench LIBRARY EMPTY [pairs]. Both run in pairs, in alternating order; the ratio is
// the median of the pairs' ratios, with its middle half, so that a slow moment of the machine falls
// on both of a pair. Page faults are counted, so they are the figure to judge a change by; their
// number depends on where the loader puts things, hence the mean.
#include <elf.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "doctor/measure.h"

namespace vvarclock::bench {
namespace {

// Microseconds; negative: the program did not run.
struct Cost {
  double elapsed;  // from before the spawn until it has ended
  double cpu;      // its own processor time, which a busy machine does not stretch
  double faults;   // page faults that no disk was read for, a number
};

double now_us() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double us(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

Cost start_once(const std::string& library) {
  std::string program = "/bin/true";
  std::string preload = "LD_PRELOAD=" + library;
  const std::array<char*, 2> arguments{program.data(), nullptr};
  const std::array<char*, 2> environment{preload.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  rusage usage{};
  const double begin = now_us();
  if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(),
                    environment.data()) != 0 ||
      ::wait4(child, &status, 0, &usage) != child || status != 0) {
    return {-1, -1, 0};
  }
  return {now_us() - begin, us(usage.ru_utime) + us(usage.ru_stime),
          static_cast<double>(usage.ru_minflt)};
}

// The loader only warns of what it cannot preload, and the ratio would be 1.
bool can_be_preloaded(const char* path) {
  std::array<char, EI_CLASS + 1> begin{};
  std::FILE* const file = std::strchr(path, '/') == nullptr ? nullptr : std::fopen(path, "re");
  if (file == nullptr) {
    return false;
  }
  const bool read = std::fread(begin.data(), begin.size(), 1, file) == 1;
  std::fclose(file);
  constexpr char kOwnClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  return read && std::memcmp(begin.data(), ELFMAG, SELFMAG) == 0 && begin[EI_CLASS] == kOwnClass;
}

class Comparison {
 public:
  void add(double ours, double empty) {
    ours_.push_back(ours);
    empty_.push_back(empty);
    ratios_.push_back(ours / empty);
  }
  void print(const char* title) const {
    std::printf("%s\n", title);
    print_line("  empty library, us", empty_);
    print_line("  vvarclock, us", ours_);
    print_line("  ratio of a pair", ratios_);
  }

 private:
  static void print_line(const char* name, const std::vector<double>& samples) {
    const doctor::Figure figure = doctor::summarise(name, samples);
    std::printf("%-24s%10.3f (%.3f-%.3f)\n", name, figure.median, figure.low, figure.high);
  }

  std::vector<double> ours_;
  std::vector<double> empty_;
  std::vector<double> ratios_;
};

int run(const std::string& library, const std::string& empty, int pairs) {
  Comparison elapsed;
  Comparison cpu;
  double our_faults = 0;
  double other_faults = 0;
  constexpr int kWarmUp = 20;
  for (int pair = -kWarmUp; pair < pairs; ++pair) {
    const bool ours_first = pair % 2 == 0;
    const Cost first = start_once(ours_first ? library : empty);
    const Cost second = start_once(ours_first ? empty : library);
    if (first.elapsed < 0 || second.elapsed < 0) {
      std::fprintf(stderr, "exec_bench: /bin/true did not run\n");
      return 1;
    }
    if (pair >= 0) {
      const Cost& ours = ours_first ? first : second;
      const Cost& other = ours_first ? second : first;
      elapsed.add(ours.elapsed, other.elapsed);
      cpu.add(ours.cpu, other.cpu);
      our_faults += ours.faults;
      other_faults += other.faults;
    }
  }
  elapsed.print("From spawn to end: median (middle half)");
  cpu.print("Processor time of the program");
  std::printf("Page faults: mean\n  empty library  %9.2f\n  vvarclock      %9.2f\n",
              other_faults / pairs, our_faults / pairs);
  return 0;
}

}  // namespace
}  // namespace vvarclock::bench

int main(int count, char** arguments) {
  const int pairs = count > 3 ? std::atoi(arguments[3]) : 1500;
  if (count < 3 || pairs < 1) {
    std::fprintf(stderr, "Usage: exec_bench LIBRARY EMPTY [pairs]\n");
    return 64;
  }
  for (int i = 1; i <= 2; ++i) {
    if (!vvarclock::bench::can_be_preloaded(arguments[i])) {
      std::fprintf(stderr, "%s: not the path of a library that programs of this width load\n",
                   arguments[i]);
      return 2;
    }
  }
  return vvarclock::bench::run(arguments[1], arguments[2], pairs);
}
