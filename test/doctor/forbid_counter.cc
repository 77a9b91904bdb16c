// Preloaded by a test: forbids this process to read the time-stamp counter before the library
// attaches.
#include <sys/prctl.h>
#include <unistd.h>

namespace {

[[gnu::constructor]] void forbid_counter() {
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) {
    _exit(77);
  }
}

}  // namespace
