// Guards against: a value that the kernel would not have given at that moment.
//
// Every clock id and every function, one read between two system calls of the same clock, in long
// unbroken rows, so that page updates, second boundaries and every phase of a tick fall among them.
// Argument: reads per call.
#include "test/support/clock_calls.h"

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  const long count = repetitions(argc, argv, 50'000, 1'000'000);
  for (const Call& call : kCalls) {
    expect_bracketed("", call, count);
    note("%s: %ld reads, none outside", call.name, count);
  }
  return 0;
}
