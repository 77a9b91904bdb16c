// Guards against: a step back between real threads while lines come and go, and a writer that is
// never heard of again (left behind by fork, or killed in shared memory) that stops everything.
//
// Real system calls and the real counter in this machine's clock mode. The source pretends changes
// of regime, so that lines are published and retired all the time; the kernel's clock goes on.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "arch/x86/rdtsc.h"
#include "core/discover/discovery.h"
#include "core/serve/raw_clock.h"
#include "core/serve/raw_source.h"
#include "test/core/serve/raw_caller.h"
#include "test/core/serve/raw_clock_probe.h"
#include "test/support/catch.h"

using namespace vvarclock;
using serve::RawClock;
using serve::RawState;

namespace {

using serve::RawClockProbe;

template <const vvar::BlockLayout& B>
arch::Attempt read_page_of(const vvar::Binding& binding, vvar::RawPage& page) noexcept {
  return serve::PageRawSource<B, arch::LfenceTsc>{binding.data, binding.counters}.read(page);
}

// This machine's page, as an erased source: the test is not about the price.
struct HostSource {
  const vvar::Binding* binding;
  arch::Attempt (*read_host)(const vvar::Binding& binding, vvar::RawPage& page) noexcept;
  const std::atomic<std::uint64_t>* regime;  // odd: none; else a shift of the lattice

  arch::Attempt read(vvar::RawPage& page) const noexcept {
    const std::uint64_t before = regime->load(std::memory_order_acquire);
    const arch::Attempt attempt = read_host(*binding, page);
    if (attempt != arch::Attempt::kDone || regime->load(std::memory_order_acquire) != before) {
      return arch::Attempt::kBusy;
    }
    page.cycle_last -= before * 1013;
    page.mode = before % 2 == 1 ? arch::kModeNone : page.mode;
    return arch::Attempt::kDone;
  }
};

struct Host {
  discover::Discovery found = discover::discover(discover::host_kernel(true),
                                                 discover::vdso_address(), discover::kAttachEffort);
  std::atomic<std::uint64_t> regime{0};
  HostSource source{};
  arch::ClockMode mode = arch::kModeNone;

  bool is_usable() {
    if (found.outcome != discover::Outcome::kBound) {
      return false;
    }
    source = {&found.binding, nullptr, &regime};
    source.read_host = vvar::with_block(
        found.layout->block, []<const vvar::BlockLayout & B>() { return &read_page_of<B>; });
    vvar::RawPage page;
    const bool is_read = serve::read_page(source, page);
    mode = page.mode;
    return is_read && mode != arch::kModeNone;
  }
};

std::uint64_t call(RawClock& clock, const HostSource& source, bool& served) {
  vvar::SecNsec time{};
  served = serve::read_raw_line(clock, source, time) == arch::Attempt::kDone;
  if (!served) {
    serve::raw_by_line_or_syscall(clock, source, serve::RawSyscall{}, time);
  }
  return time.sec * vvar::kNsPerSec + time.nsec;
}

bool serves_within(RawClock& clock, const HostSource& source, std::uint64_t calls) {
  for (std::uint64_t i = 0; i < calls; ++i) {
    bool served;
    call(clock, source, served);
    if (served) {
      return true;
    }
  }
  return false;
}

constexpr std::uint64_t kManyCalls = 20'000'000;

}  // namespace

TEST_CASE("threads never see the raw clock step back while lines come and go") {
  Host host;
  if (!host.is_usable()) {
    return test::skip("the clock mode of this machine has no counter, or no page is believed");
  }
  const auto clock = std::make_unique<RawClock>();
  clock->begin(host.mode, host.found.binding.coarse_resolution);
  std::atomic<std::uint64_t> handed_on{0};
  std::atomic<std::uint64_t> steps_back{0};
  std::atomic<std::uint64_t> served_calls{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        std::uint64_t latest = handed_on.load(std::memory_order_acquire);
        bool served;
        const std::uint64_t ns = call(*clock, host.source, served);
        served_calls.fetch_add(served ? 1 : 0, std::memory_order_relaxed);
        steps_back.fetch_add(ns < latest ? 1 : 0, std::memory_order_relaxed);
        while (latest < ns && !handed_on.compare_exchange_weak(latest, ns)) {
        }
      }
    });
  }
  // Each time a line was found the regime goes through a mode without a counter into another.
  for (int line = 0; line < 12; ++line) {
    const std::uint64_t before = served_calls.load();
    for (int wait = 0; wait < 600 && served_calls.load() == before; ++wait) {
      usleep(50'000);
    }
    host.regime.fetch_add(1);
    usleep(line % 2 == 0 ? 100 : 5'000);
    host.regime.fetch_add(1);
  }
  stop.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(steps_back.load() == 0);
  CHECK(served_calls.load() > 0);
  CHECK(clock->status().contradictions >= 6);
}

TEST_CASE("a lost writer costs a room, the last room stays, and the answers stay right") {
  test::Random random;
  CAPTURE(random.seed());
  test::RawCaller caller(test::RawKernelConfig{}, random);
  const auto serves = [&] {
    const std::uint64_t before = caller.served;
    for (int i = 0; i < 400'000 && caller.served == before; ++i) {
      caller.call();
      caller.kernel.pass(10'000);
    }
    return caller.served != before;
  };
  for (std::size_t lost = 1; lost <= RawClock::kRooms + 1; ++lost) {
    CAPTURE(lost);
    // Slow ways out of the kernel make a line that lags; then they become fast, and nobody can
    // learn of it.
    caller.kernel.set_latency(20, 2000);
    serves();
    caller.kernel.set_latency(20, 20);
    RawClockProbe::lose_writer(*caller.clock, caller.kernel.now());
    // The line outlives its writer only for as long as it counts as checked.
    for (int i = 0; i < 250'000; ++i) {
      caller.call();
      caller.kernel.pass(i % 50 == 0 ? 1'000'000 : random.below(50));
    }
    const bool has_room = lost < RawClock::kRooms;
    caller.kernel.set_latency(20, 2000);
    CHECK(serves() == has_room);
    CHECK(RawClockProbe::room(*caller.clock) == std::min(lost, RawClock::kRooms - 1));
    INFO(caller.complaint());
    CHECK(caller.is_right());
  }
}

TEST_CASE("a child of fork goes on, whatever moment it was born in") {
  Host host;
  if (!host.is_usable()) {
    return test::skip("the clock mode of this machine has no counter, or no page is believed");
  }
  const auto clock = std::make_unique<RawClock>();
  clock->begin(host.mode, host.found.binding.coarse_resolution);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      bool served;
      call(*clock, host.source, served);
    }
  });
  for (int child = 0; child < 20; ++child) {
    bool served;
    const std::uint64_t before = call(*clock, host.source, served);
    const pid_t pid = fork();
    if (pid == 0) {
      const std::uint64_t ns = call(*clock, host.source, served);
      if (child == 0) {
        vvar::RawPage page;
        serve::read_page(host.source, page);
        RawClockProbe::lose_writer(*clock, page.counter);
      }
      _exit(ns < before ? 1 : serves_within(*clock, host.source, kManyCalls) ? 0 : 2);
    }
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  stop.store(true);
  other.join();
}

TEST_CASE("writers killed in shared memory leave a clock that works") {
  Host host;
  if (!host.is_usable()) {
    return test::skip("the clock mode of this machine has no counter, or no page is believed");
  }
  void* const memory =
      mmap(nullptr, sizeof(RawClock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const clock = new (memory) RawClock;
  clock->begin(host.mode, host.found.binding.coarse_resolution);
  for (int victim = 0; victim < 30; ++victim) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (;;) {
        bool served;
        call(*clock, host.source, served);
      }
    }
    usleep(3000);
    kill(pid, SIGKILL);
    REQUIRE(waitpid(pid, nullptr, 0) == pid);
  }
  const bool out_of_rooms = RawClockProbe::room(*clock) + 1 == RawClock::kRooms;
  CHECK((serves_within(*clock, host.source, kManyCalls) || out_of_rooms));
  munmap(memory, sizeof(RawClock));
}
