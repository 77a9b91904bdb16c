// Guards against: a section that is believed although a writer was in it; a time-namespace mark
// that is seen where a writer is at work, or overlooked.
//
// Reference: the writer's protocol in kernel/time/vsyscall.c and the namespace page in
// kernel/time/namespace.c.
#include "core/vvar/seqcount.h"

#include <array>
#include <cstring>

#include "test/support/catch.h"

namespace vvarclock::vvar {
namespace {

struct Word {
  Word(std::uint32_t seq, std::int32_t mode) { set(seq, mode); }
  void set(std::uint32_t seq, std::int32_t mode) {
    std::memcpy(bytes.data(), &seq, 4);
    std::memcpy(bytes.data() + 4, &mode, 4);
  }
  alignas(8) std::array<std::byte, 8> bytes{};
};

TEST_CASE("seq and mode come from their own halves", "[vvar]") {
  const Word word(0xfedcba98, -2);
  const SeqMode begin = SeqMode::begin(word.bytes.data());
  CHECK(begin.seq() == 0xfedcba98U);
  CHECK(begin.mode() == -2);
  CHECK_FALSE(begin.being_written());
}

TEST_CASE("odd means a writer at work", "[vvar]") {
  for (const std::uint32_t seq :
       {0U, 1U, 2U, 3U, 0x7fffffffU, 0x80000000U, 0xfffffffeU, 0xffffffffU}) {
    for (const std::int32_t mode : {0, 1, 2, 3, -1, 0x7fffffff}) {
      CAPTURE(seq, mode);
      const Word word(seq, mode);
      CHECK(SeqMode::begin(word.bytes.data()).being_written() == (seq % 2 == 1));
    }
  }
}

// Where the mode is a load of its own the protocol alone ties it to seq.
TEST_CASE("a change of seq, or of the mode in the same load, ends the section", "[vvar]") {
  Word word(8, 1);
  const SeqMode begin = SeqMode::begin(word.bytes.data());
  CHECK_FALSE(begin.changed(word.bytes.data()));
  word.set(9, 1);
  CHECK(begin.changed(word.bytes.data()));
  word.set(10, 1);
  CHECK(begin.changed(word.bytes.data()));
  word.set(8, 2);
  CHECK(begin.changed(word.bytes.data()) == !arch::kTwoRegisters);
  word.set(8, 1);
  CHECK_FALSE(begin.changed(word.bytes.data()));
}

TEST_CASE("a namespace is marked by seq 1 together with either mark, and by nothing else",
          "[vvar]") {
  for (const std::int32_t mark : {0x7fffffff, -1}) {
    CAPTURE(mark);
    CHECK(SeqMode::begin(Word(1, mark).bytes.data()).marks_timens());
    CHECK(SeqMode::begin(Word(1, mark).bytes.data()).being_written());
    for (const std::uint32_t seq : {0U, 2U, 3U, 257U, 0x10001U, 0xffffffffU}) {
      CAPTURE(seq);
      CHECK_FALSE(SeqMode::begin(Word(seq, mark).bytes.data()).marks_timens());
    }
  }
  for (const std::int32_t mode : {0, 1, 2, 3, 4, 0x7ffffffe, -2}) {
    CAPTURE(mode);
    CHECK_FALSE(SeqMode::begin(Word(1, mode).bytes.data()).marks_timens());
  }
}

}  // namespace
}  // namespace vvarclock::vvar
