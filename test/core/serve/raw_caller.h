// A program on a simulated kernel that calls the raw clock and judges every answer.
//
// Calls nest where time passes (RawKernel::hook), up to four deep. The truth about an answer of the
// line is the kernel's own at the counter that the line was read with; about one of the system call
// it is whatever the kernel said during the call.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "core/serve/raw_clock.h"
#include "test/support/raw_kernel.h"

namespace vvarclock::test {

class RawCaller {
 public:
  static constexpr std::uint32_t kTickOfKernel = ~0U;

  RawCaller(const RawKernelConfig& config, Random& random, std::uint32_t tick_ns = kTickOfKernel)
      : kernel(config, random), random_(random), rounds_(config.rounds) {
    began = kernel.truth();
    if (tick_ns != 0) {
      clock->begin(arch::kModeTsc, tick_ns == kTickOfKernel ? kernel.tick_ns() : tick_ns);
    }
    kernel.hook = [this] { interrupt(); };
  }

  void call() {
    const std::uint64_t latest = latest_;
    const std::uint64_t bound = clock->status().bound;
    const std::uint64_t earliest = kernel.truth();
    most_bound_ = std::max(most_bound_, bound);
    ++depth_;
    ++calls;
    vvar::SecNsec time{};
    const Source source{this};
    if (serve::read_raw_line(*clock, source, time) == arch::Attempt::kDone) {
      ++served;
      judge("served wrong", ns_of(time), source.truth, source.truth,
            std::max(bound, clock->status().bound));
      worst = std::max(worst, apart(ns_of(time), source.truth));
    } else if (serve::raw_by_line_or_syscall(*clock, source, Kernel{this}, time) != 0) {
      complain("refused", 0, 0);
    } else {
      most_bound_ = std::max(most_bound_, clock->status().bound);
      judge("asked wrong", ns_of(time), earliest, std::max(kernel.truth(), asked_), most_bound_);
    }
    --depth_;
    if (ns_of(time) + (rounds_ ? kernel.own_step_back() : 0) < latest) {
      complain("stepped back", ns_of(time), latest);
    }
    latest_ = std::max(latest_, ns_of(time));
  }

  // The out-of-line call alone.
  long ask() {
    vvar::SecNsec time{};
    return serve::raw_by_line_or_syscall(*clock, Source{this}, Kernel{this}, time);
  }

  [[nodiscard]] bool is_right() const { return complaint_.empty(); }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  RawKernel kernel;
  std::unique_ptr<serve::RawClock> clock = std::make_unique<serve::RawClock>();
  std::uint64_t began = 0;
  std::uint64_t calls = 0;
  std::uint64_t served = 0;
  std::uint64_t worst = 0;          // ns
  std::uint32_t nested_one_in = 0;  // of the places where time passes
  bool checks_truth = true;
  long refusal = 0;             // what the system call says
  std::function<void()> event;  // happens once, at the next such place

 private:
  struct Source {
    RawCaller* caller;
    mutable std::uint64_t truth = 0;

    arch::Attempt read(vvar::RawPage& page) const noexcept {
      if (caller->random_.below(500) == 0) {
        return arch::Attempt::kBusy;
      }
      caller->kernel.read_page(page);
      truth = caller->kernel.truth();
      caller->kernel.interrupted();
      return arch::Attempt::kDone;
    }
  };
  struct Kernel {
    RawCaller* caller;
    long raw_ns(std::uint64_t& ns) const noexcept {
      ns = caller->kernel.system_call();
      caller->asked_ = ns;
      return caller->refusal;
    }
  };

  static std::uint64_t ns_of(const vvar::SecNsec& time) {
    return time.sec * 1'000'000'000 + time.nsec;
  }
  static std::uint64_t apart(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

  void interrupt() {
    if (event) {
      std::exchange(event, nullptr)();
    }
    if (depth_ > 0 && depth_ < 4 && nested_one_in != 0 && random_.below(nested_one_in) == 0) {
      call();
      kernel.pass(random_.below(2000));
    }
  }

  void judge(const char* what, std::uint64_t ns, std::uint64_t earliest, std::uint64_t last,
             std::uint64_t bound) {
    if (checks_truth && (ns + bound < earliest || ns > last + bound)) {
      complain(what, ns, ns + bound < earliest ? earliest : last);
    }
  }

  void complain(const char* what, std::uint64_t ns, std::uint64_t than) {
    if (complaint_.empty()) {
      std::ostringstream text;
      text << what << ": " << ns << " against " << than << " ("
           << static_cast<std::int64_t>(ns - than) << "), call " << calls << ", depth " << depth_
           << ", state " << serve::name(clock->status().state) << ", counter " << kernel.now()
           << ", bound " << clock->status().bound;
      complaint_ = text.str();
    }
  }

  Random& random_;
  bool rounds_;
  int depth_ = 0;
  std::uint64_t latest_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t most_bound_ = 0;
  std::string complaint_;
};

}  // namespace vvarclock::test
