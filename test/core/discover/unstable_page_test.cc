// A page that changes under every copy: the probe must give up, with a reason, and not believe a
// mixture.
//
// No second thread, which the scheduler may stop at the wrong moment: one word that every copy
// reads (the resolution, which a row of this test's own puts on the next page) faults, and the
// fault handler is the writer. x86 Linux; not under a debugger.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/load.h"
#include "test/core/discover/probe_kernel.h"
#include "test/support/catch.h"

namespace vvarclock::test {
namespace {

constexpr std::size_t kPageSize = 4096;
constexpr greg_t kTrapFlag = 0x100;

std::byte* faulting = nullptr;
std::byte* written = nullptr;
unsigned faults = 0;

void open_page(bool open) { mprotect(faulting, kPageSize, open ? PROT_READ : PROT_NONE); }

void on_fault(int, siginfo_t*, void* context) {
  ++faults;
  store<std::uint32_t>(written, 0, arch::load<std::uint32_t>(written) + 2);
  open_page(true);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
}

void on_step(int, siginfo_t*, void* context) {
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  open_page(false);
}

class Handler {
 public:
  Handler(int signal, void (*handler)(int, siginfo_t*, void*)) : signal_(signal) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(signal, &action, &old_);
  }
  ~Handler() { sigaction(signal_, &old_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int signal_;
  struct sigaction old_ {};
};

}  // namespace

TEST_CASE("a page that never holds still is refused", "[layout_probe]") {
  vvar::Layout row = vvar::kLayouts[0];
  ProbeKernel kernel(row, {.zero_timens_page = true});
  row.hrtimer_res = static_cast<std::uint16_t>(row.timens - row.data);
  row.size = static_cast<std::uint16_t>(row.hrtimer_res + 8);
  faulting = const_cast<std::byte*>(kernel.image()) + row.timens;
  written = kernel.writable(FakeKernel::Page::kData);
  faults = 0;
  discover::Refusal refusal;
  {
    const Handler fault(SIGSEGV, on_fault);
    const Handler step(SIGTRAP, on_step);
    open_page(false);
    refusal = kernel.probe(row, {});
    open_page(true);
  }
  CHECK(verdict(refusal) == verdict(discover::ProbeTest::kUnstable));
  CHECK(faults > 100);
}

}  // namespace vvarclock::test
