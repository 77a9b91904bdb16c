// The raw clock's engine beside the page's own raw record, in this machine's clock mode, for real
// time: raw_soak [seconds, 5 by default] [threads, 2].
//
// The page of a kernel from 5.3 on has a raw record, so it knows what the engine has to find out.
// Both are read one after the other, with the same counter instruction, and the record is read
// again after: the engine's value must lie between the two, give or take the bound that it states.
// The mult that it has found must be the record's.
// Threads hand the largest value on: none may get a smaller one later. Ends with status 1 on any
// breach; 77 when this machine cannot run it.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "arch/load.h"
#include "arch/x86/rdtsc.h"
#include "core/discover/discovery.h"
#include "core/serve/raw_clock.h"
#include "core/serve/raw_source.h"
#include "core/vvar/read_clock.h"

using namespace vvarclock;

namespace {

using Counter = arch::LfenceTsc;

serve::RawClock raw_clock;
std::atomic<std::uint64_t> handed_on{0};
std::atomic<bool> stop{false};

struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t served = 0;
  std::uint64_t wrong = 0;
  std::uint64_t steps_back = 0;
  std::uint64_t outside = 0;  // between two system calls of our own
  std::int64_t most_ahead = 0;
  std::int64_t most_behind = 0;
};

std::uint64_t ns_of(const vvar::SecNsec& time) { return time.sec * vvar::kNsPerSec + time.nsec; }

template <const vvar::BlockLayout& B>
std::uint64_t by_page(const vvar::Binding& binding) {
  vvar::SecNsec time{};
  while (!vvar::read_clock<B, Counter>(binding, vvar::kMonotonicRaw, time)) {
  }
  return ns_of(time);
}

template <const vvar::BlockLayout& B>
std::uint64_t by_line(const serve::PageRawSource<B, Counter>& source, bool& served) {
  vvar::SecNsec time{};
  served = serve::read_raw_line(raw_clock, source, time) == arch::Attempt::kDone;
  if (!served) {
    serve::raw_by_line_or_syscall(raw_clock, source, serve::RawSyscall{}, time);
  }
  return ns_of(time);
}

template <const vvar::BlockLayout& B>
void compare(const vvar::Binding& binding, Tally& tally) {
  const serve::PageRawSource<B, Counter> source{binding.data, binding.counters};
  const serve::RawSyscall kernel;
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t latest = handed_on.load(std::memory_order_acquire);
    const auto bound = static_cast<std::int64_t>(raw_clock.status().bound);
    std::uint64_t asked_before = 0;
    std::uint64_t asked_after = ~std::uint64_t{0};
    const bool asks = tally.calls % 64 == 0;
    if (asks) {
      kernel.raw_ns(asked_before);
    }
    bool served;
    const std::uint64_t before = by_page<B>(binding);
    const std::uint64_t value = by_line<B>(source, served);
    const std::uint64_t after = by_page<B>(binding);
    if (asks) {
      kernel.raw_ns(asked_after);
    }
    ++tally.calls;
    tally.served += served ? 1U : 0U;
    const auto behind = static_cast<std::int64_t>(before - value);
    const auto ahead = static_cast<std::int64_t>(value - after);
    const std::int64_t allowed =
        std::max(bound, static_cast<std::int64_t>(raw_clock.status().bound));
    if (served && allowed != 0) {
      tally.wrong += behind > allowed || ahead > allowed ? 1U : 0U;
      tally.most_behind = std::max(tally.most_behind, behind);
      tally.most_ahead = std::max(tally.most_ahead, ahead);
    }
    tally.outside += value < asked_before || value > asked_after ? 1U : 0U;
    tally.steps_back += value < latest ? 1U : 0U;
    std::uint64_t seen = latest;
    while (seen < value && !handed_on.compare_exchange_weak(seen, value)) {
    }
  }
}

Tally sum(const std::vector<Tally>& tallies) {
  Tally all;
  for (const Tally& tally : tallies) {
    all.calls += tally.calls;
    all.served += tally.served;
    all.wrong += tally.wrong;
    all.steps_back += tally.steps_back;
    all.outside += tally.outside;
    all.most_ahead = std::max(all.most_ahead, tally.most_ahead);
    all.most_behind = std::max(all.most_behind, tally.most_behind);
  }
  return all;
}

void print_status(const char* when) {
  const serve::RawClockStatus status = raw_clock.status();
  std::printf("%s: %s, mult %" PRIu32 ", bound %" PRIu64 " ns, %" PRIu32
              " samples, kind %s, %" PRIu32 " contradictions\n",
              when, serve::name(status.state), status.mult, status.bound, status.samples,
              !status.knows_kind ? "open"
              : status.rounds    ? "rounding"
                                 : "exact",
              status.contradictions);
}

template <class Call>
double ns_per_call(Call call) {
  constexpr int kCalls = 50'000;
  const serve::RawSyscall kernel;
  std::uint64_t sum = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  kernel.raw_ns(begin);
  for (int i = 0; i < kCalls; ++i) {
    sum += call();
  }
  kernel.raw_ns(end);
  asm volatile("" : : "r"(sum));
  return static_cast<double>(end - begin) / kCalls;
}

// Interleaved; the best round of each.
template <const vvar::BlockLayout& B>
void print_prices(const vvar::Binding& binding) {
  const serve::PageRawSource<B, Counter> source{binding.data, binding.counters};
  double line = 1e9;
  double record = 1e9;
  double call = 1e9;
  for (int round = 0; round < 20; ++round) {
    bool served = false;
    line = std::min(line, ns_per_call([&] { return by_line<B>(source, served); }));
    record = std::min(record, ns_per_call([&] { return by_page<B>(binding); }));
    call = std::min(call, ns_per_call([] {
                      std::uint64_t ns = 0;
                      serve::RawSyscall{}.raw_ns(ns);
                      return ns;
                    }));
  }
  std::printf("ns per call: line %.1f, the page's own record %.1f, system call %.1f: ratio %.1f\n",
              line, record, call, call / line);
}

template <const vvar::BlockLayout& B>
int soak(const discover::Discovery& found, int seconds, int threads) {
  const vvar::Binding& binding = found.binding;
  vvar::RawPage page;
  const serve::PageRawSource<B, Counter> source{binding.data, binding.counters};
  if (!serve::read_page(source, page) || page.mode == arch::kModeNone) {
    std::puts("skipped: the clock mode has no counter, or this is a time namespace");
    return 77;
  }
  raw_clock.begin(page.mode, binding.coarse_resolution);
  std::vector<Tally> tallies(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  running.reserve(tallies.size());
  for (Tally& tally : tallies) {
    running.emplace_back([&] { compare<B>(binding, tally); });
  }
  for (int second = 1; second <= seconds; ++second) {
    const timespec pause{1, 0};
    nanosleep(&pause, nullptr);
    if (second == 1 || second % 60 == 0) {
      print_status("so far");
    }
  }
  stop.store(true);
  for (std::thread& thread : running) {
    thread.join();
  }
  const Tally all = sum(tallies);
  print_status("at the end");
  std::printf("mode %s, %d threads, %d s: %" PRIu64 " calls, %" PRIu64
              " by the line; beyond the bound %" PRIu64 ", steps back %" PRIu64
              ", outside two system calls %" PRIu64 "; ahead of the record %" PRId64
              " ns, behind %" PRId64 " ns at most\n",
              arch::clock_mode_name(page.mode), threads, seconds, all.calls, all.served, all.wrong,
              all.steps_back, all.outside, all.most_ahead, all.most_behind);
  print_prices<B>(binding);
  const std::uint32_t mult = raw_clock.status().mult;  // 0: just then no line is in force
  const auto records = arch::load<std::uint32_t>(binding.data, B.stride + B.mult);
  const bool is_records = mult == 0 || mult == records;
  if (!is_records) {
    std::printf("mult %" PRIu32 " was found, the record has %" PRIu32 "\n", mult, records);
  }
  const bool is_right = all.wrong + all.steps_back + all.outside == 0 && all.served != 0;
  return is_right && is_records ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 5;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  if (seconds < 1 || threads < 1) {
    std::puts("usage: raw_soak [seconds] [threads]");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const discover::Discovery found = discover::discover(
      discover::host_kernel(true), discover::vdso_address(), discover::kAttachEffort);
  if (found.outcome != discover::Outcome::kBound) {
    std::puts("skipped: no page with a raw record is believed here");
    return 77;
  }
  return vvar::with_block(found.layout->block, [&]<const vvar::BlockLayout & B>() {
    if constexpr (B.has_raw_block()) {
      return soak<B>(found, seconds, threads);
    } else {
      std::puts("skipped: this page has no raw record to compare with");
      return 77;
    }
  });
}
