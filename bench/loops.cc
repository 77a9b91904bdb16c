#include "bench/loops.h"

#include <array>
#include <cstddef>

#include "arch/x86/rdtsc.h"

namespace vvarclock::bench {
namespace {

constexpr std::size_t kLinks = 1024;  // 8 KiB: stays in the first-level cache
constexpr std::size_t kStride = 389;  // odd, so the chain goes through every link
constexpr int kLoads = 8;

constexpr std::array<std::size_t, kLinks> make_chain() {
  std::array<std::size_t, kLinks> links{};
  for (std::size_t i = 0; i < kLinks; ++i) {
    links[i] = (i + kStride) % kLinks;
  }
  return links;
}

constinit std::array<std::size_t, kLinks> chain = make_chain();

struct NoWork {
  void once() {}
};

struct DependentLoads {
  std::size_t at = 0;
  void once() {
#pragma GCC unroll 8  // an inner loop's last branch is mispredicted now and then
    for (int i = 0; i < kLoads; ++i) {
      at = chain[at % kLinks];
    }
    asm volatile("" : "+r"(at));
  }
};

struct IndependentArithmetic {
  std::size_t a = 1, b = 2, c = 3, d = 4;
  void once() {
    constexpr int kSteps = 16;
    // Knuth's for MMIX; any odd one does.
    constexpr auto kFactor = static_cast<std::size_t>(6364136223846793005U);
#pragma GCC unroll 16
    for (int i = 0; i < kSteps; ++i) {
      a = a * kFactor + 1;
      b = b * kFactor + 1;
      c = c * kFactor + 1;
      d = d * kFactor + 1;
    }
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  }
};

[[gnu::noinline]] int return_at_once(clockid_t, timespec*) {
  asm volatile("");
  return 0;
}

template <class Work, class Turn>
[[gnu::always_inline]] inline void repeat(std::uint32_t turns, Turn turn) {
  for (Work work; turns != 0; --turns) {
    work.once();
    turn();
  }
}

template <class Work>
void run_calls(const Call& call, const Way& way, std::uint32_t turns) {
  const clockid_t id = call.id;
  timespec time{};
  timeval day{};
  switch (call.form) {
    case Form::kGettimeofday:
      return repeat<Work>(turns, [f = way.gettimeofday, &day] { f(&day, nullptr); });
    case Form::kTime:
      return repeat<Work>(turns, [f = way.time] { f(nullptr); });
    case Form::kTimespecGet:
      return repeat<Work>(turns, [f = way.timespec_get, &time] { f(&time, TIME_UTC); });
    case Form::kClockGetres:
      return repeat<Work>(turns, [f = way.clock_getres, id, &time] { f(id, &time); });
    default:
      return repeat<Work>(turns, [f = way.clock_gettime, id, &time] { f(id, &time); });
  }
}

template <class Work>
void run_work(const Call& call, const Way& way, std::uint32_t turns) {
  switch (call.form) {
    case Form::kNothing:
      return repeat<Work>(turns, [] { asm volatile(""); });
    case Form::kEmptyCall: {
      Way empty;
      empty.clock_gettime = &return_at_once;
      asm volatile("" : "+r"(empty.clock_gettime));
      return run_calls<Work>({"", Form::kClockGettime, 0}, empty, turns);
    }
    case Form::kRdtsc:
      return repeat<Work>(turns, [] { arch::UnorderedTsc::read(); });
    case Form::kLfenceRdtsc:
      return repeat<Work>(turns, [] { arch::LfenceTsc::read(); });
    case Form::kRdtscp:
      return repeat<Work>(turns, [] { arch::RdtscpTsc::read(); });
    default:
      return run_calls<Work>(call, way, turns);
  }
}

}  // namespace

const char* key(Shape shape) {
  return shape == Shape::kBackToBack ? "back_to_back"
         : shape == Shape::kLoads    ? "added_to_dependent_loads"
                                     : "added_to_independent_arithmetic";
}

const char* title(Shape shape) {
  return shape == Shape::kBackToBack ? "back to back"
         : shape == Shape::kLoads    ? "added to a chain of 8 dependent loads"
                                     : "added to 64 multiplications in 4 independent lanes";
}

void run_turns(Shape shape, const Call& call, const Way& way, std::uint32_t turns) {
  switch (shape) {
    case Shape::kBackToBack:
      return run_work<NoWork>(call, way, turns);
    case Shape::kLoads:
      return run_work<DependentLoads>(call, way, turns);
    case Shape::kArithmetic:
      return run_work<IndependentArithmetic>(call, way, turns);
  }
}

}  // namespace vvarclock::bench
