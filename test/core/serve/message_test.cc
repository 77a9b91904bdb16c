// Guards: text built inside a host process must never overrun its buffer nor carry control
// characters.
#include "core/serve/message.h"

#include <signal.h>
#include <unistd.h>

#include <limits>
#include <string>

#include "test/support/catch.h"

using vvarclock::serve::TextBuffer;

TEST_CASE("numbers come out as printf would write them") {
  TextBuffer<256> text;
  text.decimal(0) << ' ';
  text.decimal(std::numeric_limits<std::uint64_t>::max()) << ' ';
  text.signed_decimal(std::numeric_limits<std::int64_t>::min()) << ' ';
  text.signed_decimal(-1) << ' ';
  text.hex(0) << ' ';
  text.hex(0xdeadbeefcafef00dU);
  CHECK(text.view() == "0 18446744073709551615 -9223372036854775808 -1 0x0 0xdeadbeefcafef00d");
}

TEST_CASE("what does not fit is dropped") {
  TextBuffer<8> text;
  text << "12345";
  CHECK_FALSE(text.full());
  text << "6789";
  CHECK(text.full());
  CHECK(text.view() == "12345678");
  text.decimal(42) << 'x';
  CHECK(text.view() == "12345678");
}

TEST_CASE("quoted text is printable and bounded") {
  TextBuffer<256> text;
  text.quoted(
      "a\x1b[2J\n\xff"
      "b");
  CHECK(text.view() == "'a?[2J??b'");
  TextBuffer<256> longer;
  longer.quoted(std::string(100, 'x'), 4);
  CHECK(longer.view() == "'xxxx...'");
}

TEST_CASE("JSON strings are escaped") {
  TextBuffer<256> text;
  text.json("a\"b\\c\nd");
  CHECK(text.view() == "\"a\\\"b\\\\c?d\"");
}

TEST_CASE("a line on a closed pipe does not end the host") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int kept = dup(STDERR_FILENO);
  close(ends[0]);
  REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  vvarclock::serve::say("nobody reads this");  // SIGPIPE would end this process
  REQUIRE(dup2(kept, STDERR_FILENO) == STDERR_FILENO);
  close(ends[1]);
  close(kept);
  sigset_t pending;
  REQUIRE(sigpending(&pending) == 0);
  CHECK(sigismember(&pending, SIGPIPE) == 0);
}
