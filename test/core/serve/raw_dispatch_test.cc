// Guards CLOCK_MONOTONIC_RAW from end to end where the page has no record of it: the exported
// function over a page of 4.20 - 5.2 that follows this machine's own, the real system call beside.
//
// An executable of its own: a process attaches once.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "core/discover/discovery.h"
#include "core/serve/dispatch.h"
#include "core/serve/raw_reader.h"
#include "test/support/catch.h"
#include "test/support/kernel_time.h"
#include "test/support/mirrored_page.h"

using namespace vvarclock;
using test::in_ns;
using test::kernel_ns;

namespace {

constexpr timespec kPause{0, 1'000'000};

struct Attached {
  discover::Discovery found;
  std::unique_ptr<test::MirroredPage> page;
  serve::Functions functions;

  long long ns() const {
    timespec time{};
    REQUIRE(functions.own.clock_gettime(CLOCK_MONOTONIC_RAW, &time) == 0);
    return in_ns(time);
  }
};

// Null: not here, and it was said why.
const Attached* attached() {
  static const Attached* const kAttached = []() -> const Attached* {
    auto* const made = new Attached;
    made->found = discover::discover(discover::host_kernel(true), discover::vdso_address(),
                                     discover::kAttachEffort);
    if (const char* const why = test::why_no_raw_line(made->found)) {
      WARN("skipped: " << why);
      return nullptr;
    }
    made->page = std::make_unique<test::MirroredPage>(
        made->found.binding, vvar::block_layout(made->found.layout->block), vvar::kBlockC);
    const vvar::Binding binding = made->page->binding();
    const arch::ClockMode mode = serve::clock_mode_now(made->found);
    made->functions =
        serve::page_readers(vvar::BlockKind::kC, {arch::Ordering::kLfence, true, mode});
    serve::begin_raw_clock(binding, vvar::BlockKind::kC, mode);
    serve::attach(binding, vvar::BlockKind::kC, made->functions);
    return made;
  }();
  return kAttached;
}

serve::RawClockStatus teach(const Attached& attached) {
  for (int call = 0; call < 20'000; ++call) {
    attached.ns();
    if (serve::raw_clock.status().state == serve::RawState::kServing) {
      break;
    }
    nanosleep(&kPause, nullptr);
  }
  return serve::raw_clock.status();
}

// For the calling thread alone, and for good.
bool refuse_clock_gettime() {
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{program.size(), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

TEST_CASE("the other clocks of the mirrored page are right, so it is a page") {
  const Attached* const here = attached();
  if (here == nullptr) {
    return;
  }
  for (const clockid_t id : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_TAI}) {
    timespec before{};
    timespec time{};
    timespec after{};
    REQUIRE(syscall(SYS_clock_gettime, id, &before) == 0);
    REQUIRE(here->functions.own.clock_gettime(id, &time) == 0);
    REQUIRE(syscall(SYS_clock_gettime, id, &after) == 0);
    // The mirror may lack the latest update, after which NTP may steer otherwise.
    CHECK(in_ns(time) >= in_ns(before) - 1000);
    CHECK(in_ns(time) <= in_ns(after) + 1000);
  }
}

TEST_CASE("a line is found, and keeps to its bound and to the order of all calls") {
  const Attached* const here = attached();
  if (here == nullptr) {
    return;
  }
  const serve::RawClockStatus status = teach(*here);
  REQUIRE(status.state == serve::RawState::kServing);
  INFO("bound " << status.bound << " ns, mult " << status.mult);
  CHECK(status.bound > 0);
  long long latest = 0;
  long long beyond = 0;
  long long back = 0;
  for (int call = 0; call < 200'000; ++call) {
    const long long before = kernel_ns(CLOCK_MONOTONIC_RAW);
    const long long time = here->ns();
    const long long after = kernel_ns(CLOCK_MONOTONIC_RAW);
    const auto bound = static_cast<long long>(serve::raw_clock.status().largest_bound);
    beyond += time < before - bound || time > after + bound ? 1 : 0;
    back += time < latest ? 1 : 0;
    latest = std::max(latest, time);
  }
  CHECK(beyond == 0);
  CHECK(back == 0);
}

TEST_CASE("the line makes no system call, but for the check") {
  const Attached* const here = attached();
  if (here == nullptr) {
    return;
  }
  REQUIRE(teach(*here).state == serve::RawState::kServing);
  std::atomic<bool> stop{false};
  // Somebody has to be allowed to check the line.
  std::thread checker([&] {
    while (!stop.load()) {
      timespec time{};
      here->functions.own.clock_gettime(CLOCK_MONOTONIC_RAW, &time);
      nanosleep(&kPause, nullptr);
    }
  });
  constexpr int kCalls = 1'000'000;
  bool filtered = false;
  int refused = 0;
  int direct = 0;
  std::thread caller([&] {
    filtered = refuse_clock_gettime();
    timespec time{};
    direct = static_cast<int>(syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &time));
    for (int call = 0; call < kCalls; ++call) {
      refused += here->functions.own.clock_gettime(CLOCK_MONOTONIC_RAW, &time) != 0 ? 1 : 0;
    }
  });
  caller.join();
  stop.store(true);
  checker.join();
  if (!filtered) {
    WARN("skipped: this system has no seccomp filters");
    return;
  }
  CHECK(direct == -1);
  INFO(refused << " of " << kCalls << " calls asked the kernel");
  // A mirror that gets no CPU for eight ticks stops the line until it is back.
  CHECK(refused < kCalls / 2);
}

TEST_CASE("an invalid pointer or id is the kernel's, also where RAW is a line") {
  const Attached* const here = attached();
  if (here == nullptr) {
    return;
  }
  errno = 0;
  CHECK(here->functions.own.clock_gettime(12345, nullptr) == -1);
  CHECK(errno == EINVAL);
}
