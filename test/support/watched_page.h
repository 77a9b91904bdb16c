// A page that reports every single load from it, before the load happens: the kernel at work in the
// middle of a reader.
//
// Two mappings of one memory: `watched` faults at every access, and the fault handler runs the
// test's script, which may change the memory through `written`; then the one instruction runs,
// under the CPU's trap flag, and the page is closed again. So "the writer came between the third
// and the fourth load" is not a matter of luck.
//
// x86 Linux only; one watched page at a time, one thread; not under a debugger, which takes the
// trap signal away. The script runs in a signal handler: it may write memory and nothing else. An
// instruction that loads twice counts once.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace vvarclock::test {

class WatchedPage {
 public:
  static constexpr std::size_t kSize = 4096;

  // Gets the number of the load that is about to happen, 1 for the first since arm().
  class Script {
   public:
    virtual void before_load(unsigned load) noexcept = 0;

   protected:
    ~Script() = default;
  };

  WatchedPage() noexcept {
    const int memory = memfd_create("watched_page", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, kSize) != 0) {
      std::abort();
    }
    written_ = map(memory, PROT_READ | PROT_WRITE);
    watched_ = map(memory, PROT_READ);
    close(memory);
    current = this;
    install(SIGSEGV, on_fault, old_fault_);
    install(SIGTRAP, on_trap, old_trap_);
  }

  ~WatchedPage() {
    sigaction(SIGSEGV, &old_fault_, nullptr);
    sigaction(SIGTRAP, &old_trap_, nullptr);
    current = nullptr;
    munmap(written_, kSize);
    munmap(watched_, kSize);
  }

  WatchedPage(const WatchedPage&) = delete;
  WatchedPage& operator=(const WatchedPage&) = delete;

  [[nodiscard]] std::byte* written() const noexcept { return written_; }
  [[nodiscard]] const std::byte* watched() const noexcept { return watched_; }

  // From here on every load from watched() is counted and, with a script, announced.
  void arm(Script* script = nullptr) noexcept {
    script_ = script;
    loads_ = 0;
    protect(PROT_NONE);
  }

  // Ends the watch; the number of loads it saw.
  unsigned disarm() noexcept {
    protect(PROT_READ);
    script_ = nullptr;
    return loads_;
  }

 private:
  static constexpr greg_t kTrapFlag = 0x100;

  static std::byte* map(int memory, int protection) noexcept {
    void* const address = mmap(nullptr, kSize, protection, MAP_SHARED, memory, 0);
    if (address == MAP_FAILED) {
      std::abort();
    }
    return static_cast<std::byte*>(address);
  }

  static void install(int signal, void (*handler)(int, siginfo_t*, void*),
                      struct sigaction& old) noexcept {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(signal, &action, &old);
  }

  void protect(int protection) const noexcept {
    if (mprotect(watched_, kSize, protection) != 0) {
      std::abort();
    }
  }

  static void on_fault(int, siginfo_t* info, void* context) noexcept {
    const auto* const address = static_cast<const std::byte*>(info->si_addr);
    WatchedPage* const page = current;
    if (page == nullptr || address < page->watched_ || address >= page->watched_ + kSize) {
      signal(SIGSEGV, SIG_DFL);  // a real fault: the instruction runs again and ends the program
      return;
    }
    ++page->loads_;
    if (page->script_ != nullptr) {
      page->script_->before_load(page->loads_);
    }
    page->protect(PROT_READ);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  }

  static void on_trap(int, siginfo_t*, void* context) noexcept {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    if (current != nullptr) {
      current->protect(PROT_NONE);
    }
  }

  inline static WatchedPage* current = nullptr;

  std::byte* written_;
  std::byte* watched_;
  Script* script_ = nullptr;
  unsigned loads_ = 0;
  struct sigaction old_fault_ {};
  struct sigaction old_trap_ {};
};

}  // namespace vvarclock::test
