// A library that reads every clock wherever a library's code can run: in a constructor, in a
// destructor, at exit.
//
// Each value must lie between two system calls, whether vvarclock has attached yet or is gone
// already. What ran is told to the descriptor in VVARCLOCK_TEST_LOG, one letter each after this
// library's own letter.
#include "test/support/clock_calls.h"

#if !defined(USER_LETTER) || !defined(USER_SYMBOL)
#error "USER_LETTER and USER_SYMBOL name this copy of the library"
#endif

namespace vvarclock::process {
namespace {

void read_all(char moment) {
  const std::array<char, 3> mark{USER_LETTER, moment, '\n'};
  const std::array<char, 12> where{'u', 's', 'e', 'r', ' ', USER_LETTER, ' ', moment, ':', ' '};
  require_library();
  expect_all_bracketed(where.data(), 5);
  const int log = std::atoi(environment("VVARCLOCK_TEST_LOG", "-1"));
  expect(log < 0 || write(log, mark.data(), mark.size()) == static_cast<ssize_t>(mark.size()),
         "log: %s", std::strerror(errno));
}

void at_exit() { read_all('x'); }

// Where this library is initialised before the C library, that does not know its environment yet.
[[gnu::constructor]] void construct(int, char**, char** variables) {
  environ = variables;
  read_all('c');
  std::atexit(&at_exit);
}

[[gnu::destructor]] void destruct() { read_all('d'); }

}  // namespace
}  // namespace vvarclock::process

// What the program refers to, so that the linker keeps the library.
extern "C" [[gnu::visibility("default")]] int USER_SYMBOL() { return USER_LETTER; }
