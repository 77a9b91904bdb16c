// A writer that is stopped in the middle of an update: waited for while it may still come back,
// refused in bounded time when it does not.
//
// Guards: a virtual CPU that loses its turn with seq odd, which must not cost the process its fast
// clocks. The writer comes back by a timer that counts this process's own CPU time, as the wait
// does, so a busy machine decides nothing.
#include "core/discover/page_copy.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <cstdint>

#include "arch/load.h"
#include "test/core/discover/probe_kernel.h"
#include "test/support/catch.h"

namespace vvarclock::test {
namespace {

using discover::ProbeTest;
using vvar::BlockLayout;

constexpr suseconds_t kStolenUs = 10'000;

std::byte* seq_of_block0 = nullptr;
std::byte* seq_of_block1 = nullptr;
volatile sig_atomic_t returns = 0;

void write_seq(std::byte* seq, std::uint32_t change) {
  store<std::uint32_t>(seq, 0, arch::load<std::uint32_t>(seq) + change);
}

// The writer's last two stores, or the one that is left.
void finish_update(int) {
  returns = returns + 1;
  for (std::byte* const seq : {seq_of_block0, seq_of_block1}) {
    write_seq(seq, arch::load<std::uint32_t>(seq) & 1U);
  }
}

// The update is finished once this process has used so much CPU time.
class WriterReturns {
 public:
  WriterReturns() {
    returns = 0;
    struct sigaction action {};
    action.sa_handler = finish_update;
    action.sa_flags = SA_RESTART;
    sigaction(SIGVTALRM, &action, &old_);
    const itimerval once{{0, 0}, {0, kStolenUs}};
    setitimer(ITIMER_VIRTUAL, &once, nullptr);
  }
  ~WriterReturns() {
    const itimerval never{};
    setitimer(ITIMER_VIRTUAL, &never, nullptr);
    sigaction(SIGVTALRM, &old_, nullptr);
  }
  WriterReturns(const WriterReturns&) = delete;
  WriterReturns& operator=(const WriterReturns&) = delete;

 private:
  struct sigaction old_ {};
};

std::int64_t cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kSecond + used.tv_nsec;
}

enum class Stopped : std::uint8_t { kInTheMiddle, kBeforeItsLastStore };

// Stopped before its last store: block 0 is done, block 1 is still odd, one behind it.
bool stop_writer(ProbeKernel& kernel, Stopped where) {
  const BlockLayout& block = vvar::block_layout(kernel.layout().block);
  std::byte* const data = kernel.writable(FakeKernel::Page::kData);
  seq_of_block0 = data + block.seq;
  seq_of_block1 = data + block.stride + block.seq;
  if (where == Stopped::kInTheMiddle) {
    kernel.hold_seq_odd(true);
    return true;
  }
  write_seq(seq_of_block1, ~0U);
  return block.has_raw_block();
}

template <class F>
void for_every_stop(F f) {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    for (const Stopped where : {Stopped::kInTheMiddle, Stopped::kBeforeItsLastStore}) {
      ProbeKernel kernel(layout, {});
      CAPTURE(layout.name, static_cast<int>(where));
      if (stop_writer(kernel, where)) {
        f(kernel);
      }
    }
  }
}

}  // namespace

TEST_CASE("a writer that lost its CPU is waited for", "[page_copy]") {
  for_every_stop([](ProbeKernel& kernel) {
    const WriterReturns soon;
    const auto refusal = kernel.probe(kernel.layout(), hints_of(kernel.layout()));
    CHECK(verdict(refusal) == verdict(ProbeTest::kPassed));
    CHECK(returns == 1);
  });
}

TEST_CASE("a writer that never comes back is refused", "[page_copy]") {
  for_every_stop([](ProbeKernel& kernel) {
    const auto confirmed = kernel.probe(kernel.layout(), hints_of(kernel.layout()));
    CHECK(verdict(confirmed) == verdict(ProbeTest::kSeqOdd));
  });
}

TEST_CASE("the long wait is for pages that the code confirms", "[page_copy]") {
  ProbeKernel kernel(vvar::kLayouts[0], {});
  kernel.hold_seq_odd(true);
  const auto cost = [&](const discover::CodeHints& hints) {
    const std::int64_t begin = cpu_ns();
    CHECK(verdict(kernel.probe(kernel.layout(), hints)) == verdict(ProbeTest::kSeqOdd));
    return cpu_ns() - begin;
  };
  const std::int64_t unconfirmed = cost({});
  CHECK(cost(hints_of(kernel.layout())) > 4 * unconfirmed);
}

TEST_CASE("a raw block whose seq is no writer's is not waited for", "[page_copy]") {
  for (const std::uint32_t change : {1U, 2U, ~0U - 1, ~0U - 2}) {
    CAPTURE(change);
    ProbeKernel kernel(vvar::kLayouts[0], {});
    stop_writer(kernel, Stopped::kBeforeItsLastStore);
    write_seq(seq_of_block1, change + 1);
    CHECK(verdict(kernel.probe(kernel.layout(), hints_of(kernel.layout()))) ==
          verdict(ProbeTest::kBlocksDisagree));
  }
}

}  // namespace vvarclock::test
