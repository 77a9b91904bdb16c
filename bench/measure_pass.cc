// The measuring itself: batches in turn, calls timed one by one, threads.
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>

#include "arch/x86/raw_syscall.h"
#include "arch/x86/rdtsc.h"
#include "bench/pass.h"
#include "bench/throughput.h"

namespace vvarclock::bench {
namespace {

// The counter and the kernel's raw clock at one moment: the clock that is never slewed, asked by
// system call between two counter reads; of several tries the quickest.
struct Moment {
  std::uint64_t cycles = 0;
  double ns = 0;
};

Moment moment() {
  Moment best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 20; ++i) {
    arch::Timespec64 time{};
    const std::uint64_t before = arch::LfenceTsc::read();
    arch::raw_clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    const std::uint64_t after = arch::LfenceTsc::read();
    if (after - before < shortest) {
      shortest = after - before;
      best = {before + shortest / 2,
              static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec)};
    }
  }
  return best;
}

double tsc_hz(const Moment& begin, const Moment& end) {
  return end.ns > begin.ns
             ? static_cast<double>(end.cycles - begin.cycles) / (end.ns - begin.ns) * 1e9
             : 0;
}

double rate_at_once() {
  constexpr timespec kPause{0, 5'000'000};
  const Moment begin = moment();
  ::nanosleep(&kPause, nullptr);
  return tsc_hz(begin, moment());
}

class Batches {
 public:
  Batches(const Plan& plan, const std::vector<Way>& ways, double hz)
      : plan_(plan), ways_(ways), cycles_per_batch_(plan.effort.batch_ns * hz / 1e9) {
    for (const Subject& subject : plan.subjects) {
      turns_.push_back(turns_that_fill(subject));
    }
  }

  std::vector<std::vector<double>> run() const {
    std::vector<std::vector<double>> samples(plan_.subjects.size());
    for (std::uint32_t round = 0; round < plan_.effort.rounds; ++round) {
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::size_t turn = (i + round) % samples.size();
        samples[turn].push_back(batch(plan_.subjects[turn], turns_[turn]));
      }
    }
    return samples;
  }

 private:
  double batch(const Subject& subject, std::uint32_t turns) const {
    const Way& way = subject.column == kNoColumn ? ways_.front() : ways_[subject.column];
    // The subject before may have been a system call, after which caches are cold.
    run_turns(subject.shape, *subject.call, way, turns / 8 + 1);
    const std::uint64_t begin = arch::LfenceTsc::read();
    run_turns(subject.shape, *subject.call, way, turns);
    return static_cast<double>(arch::LfenceTsc::read() - begin) / turns;
  }

  // The quickest of a few: the first turns touch new memory, and one interruption would make every
  // batch too short.
  double quickest(const Subject& subject, std::uint32_t turns) const {
    double least = batch(subject, turns);
    for (int i = 0; i < 4; ++i) {
      least = std::min(least, batch(subject, turns));
    }
    return std::max(least, 0.1);
  }

  std::uint32_t turns_that_fill(const Subject& subject) const {
    std::uint32_t turns = 8;
    double one = 0;
    do {
      turns *= 2;
      one = quickest(subject, turns);
    } while (one * turns < cycles_per_batch_ / 4 && turns < (1U << 20));
    return static_cast<std::uint32_t>(std::clamp(cycles_per_batch_ / one, 8.0, 1e6));
  }

  const Plan& plan_;
  const std::vector<Way>& ways_;
  double cycles_per_batch_;
  std::vector<std::uint32_t> turns_;
};

// Calls timed one by one. Both counter reads wait for what is before them, so an unordered reader
// gains nothing here by being early.
void time_each(const Call& call, const Way& way, std::uint32_t calls, Histogram& histogram) {
  for (; calls != 0; --calls) {
    const std::uint64_t begin = arch::LfenceTsc::read();
    run_turns(Shape::kBackToBack, call, way, 1);
    histogram.add(arch::LfenceTsc::read() - begin);
  }
}

std::vector<Histogram> measure_tails(const Plan& plan, const std::vector<Way>& ways) {
  constexpr std::uint32_t kInTurn = 500;
  std::vector<Histogram> tails(plan.columns.size() + 1);
  for (std::uint32_t done = 0; done < plan.effort.tail_calls; done += kInTurn) {
    for (std::size_t column = 0; column < plan.columns.size(); ++column) {
      time_each(*plan.chosen, ways[column], kInTurn, tails[column]);
    }
    time_each(kBare.front(), ways.front(), kInTurn, tails.back());
  }
  return tails;
}

}  // namespace

Pass measure_pass(const Plan& plan, const std::vector<Way>& ways) {
  Pass pass;
  const double hz = rate_at_once();
  if (hz <= 0) {
    return pass;
  }
  const Moment begin = moment();
  pass.cycles = Batches(plan, ways, hz).run();
  pass.tails = measure_tails(plan, ways);
  pass.tsc_hz = tsc_hz(begin, moment());
  pass.throughput.resize(plan.threads.size() * plan.columns.size());
  for (std::uint32_t round = 0; round < plan.effort.thread_rounds; ++round) {
    for (std::size_t count = 0; count < plan.threads.size(); ++count) {
      for (std::size_t column = 0; column < plan.columns.size(); ++column) {
        pass.throughput[throughput_index(plan, count, column)].push_back(calls_per_second(
            {plan.threads[count], plan.effort.thread_ns}, *plan.chosen, ways[column]));
      }
    }
  }
  return pass;
}

}  // namespace vvarclock::bench
