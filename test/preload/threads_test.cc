// Guards against: state per thread or behind a lock on the way of a call.
//
// Hundreds of threads at once, each reading every clock between two system calls; and a thread
// whose thread-local storage is not libc's, whose bytes must stay as they are. Argument: threads.
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <cstddef>
#include <thread>

#include "arch/x86/raw_syscall.h"
#include "test/support/clock_calls.h"

namespace vvarclock::process {
namespace {

constexpr long kReadsPerThread = 100;

void many_threads(long count) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (long i = 0; i < count; ++i) {
    threads.emplace_back([] { expect_all_bracketed("among many threads: ", kReadsPerThread); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

#ifdef __x86_64__
// The functions' addresses, so that the loader's own work is not done on the foreign storage.
struct Functions {
  int (*clock_gettime)(clockid_t, timespec*) = &::clock_gettime;
  int (*gettimeofday)(timeval*, void*) = &::gettimeofday;
  time_t (*time)(time_t*) = &::time;
  int (*clock_getres)(clockid_t, timespec*) = &::clock_getres;
  int (*timespec_get)(timespec*, int) = &::timespec_get;
};

// Stands where libc has the thread's storage: before it the thread-local variables, behind it the
// thread's record.
struct ForeignStorage {
  alignas(64) std::array<unsigned char, 8192> bytes;
};

long set_fs(unsigned long address) {
  return arch::raw_syscall(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(address));
}

[[gnu::noinline]] int read_all_on_foreign_storage(const Functions& call, unsigned long own,
                                                  unsigned long foreign) {
  int failures = 0;
  timespec now{};
  timeval day{};
  set_fs(foreign);
  for (const clockid_t id : kServedIds) {
    failures += call.clock_gettime(id, &now) != 0;
    failures += call.clock_getres(id, &now) != 0;
  }
  failures += call.gettimeofday(&day, nullptr) != 0;
  failures += call.time(nullptr) <= 0;
  failures += call.timespec_get(&now, TIME_UTC) != TIME_UTC;
  set_fs(own);
  return failures;
}

void foreign_thread_storage() {
  static ForeignStorage storage;
  storage.bytes.fill(0xa5);
  unsigned long own = 0;
  expect(arch::raw_syscall(SYS_arch_prctl, ARCH_GET_FS, reinterpret_cast<long>(&own)) == 0,
         "no FS base");
  const Functions functions;
  const auto foreign =
      reinterpret_cast<unsigned long>(storage.bytes.data() + storage.bytes.size() / 2);
  const int failures = read_all_on_foreign_storage(functions, own, foreign);
  expect(failures == 0, "%d calls failed in a thread without libc's storage", failures);
  for (std::size_t i = 0; i < storage.bytes.size(); ++i) {
    expect(storage.bytes[i] == 0xa5, "a call wrote to thread-local storage, at %+ld of its base",
           static_cast<long>(i) - static_cast<long>(storage.bytes.size() / 2));
  }
}
#endif

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  const long count = repetitions(argc, argv, 300, 1000);
  many_threads(count);
#ifdef __x86_64__
  expect_passed(run_in_child(foreign_thread_storage), "thread without libc's thread-local storage");
  note("%ld threads at once, and one without libc's storage", count);
#else  // the storage hangs on a descriptor there, which is not exchanged between two calls
  note("%ld threads at once", count);
#endif
  return 0;
}
