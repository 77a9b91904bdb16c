// Guards against: an instruction sequence that loses half of the counter or reads something else.
//
// Reference: within one thread on one CPU the counter never goes back, and it moves. The thread is
// tied to its CPU because CPUs' counters may differ where the kernel does not use them as its time
// base.
#include "arch/x86/rdtsc.h"

#include <sched.h>
#include <x86intrin.h>

#include "arch/x86/cpu.h"
#include "test/support/catch.h"

namespace vvarclock::arch {
namespace {

class OneCpu {
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof(old_), &old_);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &here);
    sched_setaffinity(0, sizeof(here), &here);
  }
  ~OneCpu() { sched_setaffinity(0, sizeof(old_), &old_); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t old_{};
};

template <Counter C>
void moves_forward() {
  const OneCpu one_cpu;
  const std::uint64_t first = C::read();
  std::uint64_t last = first;
  int steps_back = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t now = C::read();
    steps_back += now < last ? 1 : 0;
    last = now;
  }
  CHECK(steps_back == 0);
  CHECK(last > first);
}

// Not the compiler's intrinsic, which 32-bit builds for older CPUs do not have.
void lfence() { asm volatile("lfence" : : : "memory"); }

// Both halves are right: between two reads of the compiler's own intrinsic, fenced on both sides.
template <Counter C>
void agrees_with_the_intrinsic() {
  const OneCpu one_cpu;
  int outside = 0;
  for (int i = 0; i < 10'000; ++i) {
    lfence();
    const std::uint64_t before = __rdtsc();
    lfence();
    const std::uint64_t now = C::read();
    lfence();
    const std::uint64_t after = __rdtsc();
    outside += now < before || now > after ? 1 : 0;
  }
  CHECK(outside == 0);
}

TEST_CASE("rdtsc reads the time stamp counter", "[arch]") {
  STATIC_REQUIRE(Counter<UnorderedTsc>);
  STATIC_REQUIRE(UnorderedTsc::kOrdering == Ordering::kUnordered);
  moves_forward<UnorderedTsc>();
  agrees_with_the_intrinsic<UnorderedTsc>();
}

TEST_CASE("lfence; rdtsc reads the time stamp counter", "[arch]") {
  STATIC_REQUIRE(Counter<LfenceTsc>);
  STATIC_REQUIRE(LfenceTsc::kOrdering == Ordering::kLfence);
  moves_forward<LfenceTsc>();
  agrees_with_the_intrinsic<LfenceTsc>();
}

TEST_CASE("rdtscp reads the time stamp counter", "[arch]") {
  STATIC_REQUIRE(Counter<RdtscpTsc>);
  STATIC_REQUIRE(RdtscpTsc::kOrdering == Ordering::kRdtscp);
  if (!has_rdtscp()) {
    test::skip("CPUID grants no rdtscp on this CPU");
    return;
  }
  moves_forward<RdtscpTsc>();
  agrees_with_the_intrinsic<RdtscpTsc>();
}

}  // namespace
}  // namespace vvarclock::arch
