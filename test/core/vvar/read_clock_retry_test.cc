// Guards against: a time made of two updates, in whichever moment the writer comes; a reader that
// waits for ever.
//
// The kernel's writer is put before every single load of the reader in turn (watched_page.h), and
// between every pair of them. Reference: a reader may answer what the page said before the update
// or after it, and nothing else.
#include "core/vvar/read_clock.h"

#include <cstring>

#include "test/core/vvar/pages.h"
#include "test/support/catch.h"
#include "test/support/scripted_counter.h"
#include "test/support/watched_page.h"

namespace vvarclock::vvar {
namespace {

using test::k2Ghz;
using test::KindV;
using test::kUntouched;
using test::ScriptedCounter;
using test::WatchedPage;

constexpr test::Anchor kSteered{k2Ghz.cycle_last + 8'000'000, (1U << 23) + 4000, 24};
constexpr std::uint64_t kCounter = kSteered.cycle_last + 1'000'000;

void write_old(const test::PageWriter& page) { test::write_page_at_rest(page); }

void write_new(const test::PageWriter& page) {
  test::write_page_at_rest(page, 10, 5000);
  page.anchor(kSteered);
}

// An update in two halves: the first before the load of number `begin`, the second before that of
// number `end`.
class Writer final : public WatchedPage::Script {
 public:
  Writer(std::byte* page, unsigned begin, unsigned end)
      : page_(kBlockV, page), begin_(begin), end_(end) {}

  void before_load(unsigned load) noexcept override {
    if (load == begin_) {
      page_.seq(9);
      page_.anchor(kSteered);
      for (const NamedClock& clock : kServedClocks) {
        page_.put((clock.id == kMonotonicRaw ? kBlockV.stride : 0U) + kBlockV.sec(clock.id),
                  std::uint64_t{5000 + clock.id});
      }
    }
    if (load == end_) {
      write_new(page_);
    }
  }

 private:
  test::PageWriter page_;
  unsigned begin_;
  unsigned end_;
};

struct Answer {
  bool given;
  SecNsec time;
  unsigned loads;
};

Answer read_full(WatchedPage& page, ClockId id, WatchedPage::Script* writer) {
  Binding binding;
  binding.data = page.watched();
  Answer answer{false, kUntouched, 0};
  page.arm(writer);
  answer.given = read_clock<kBlockV, ScriptedCounter>(binding, id, answer.time);
  answer.loads = page.disarm();
  return answer;
}

Answer read_hot(WatchedPage& page, ClockId id, WatchedPage::Script* writer) {
  Answer answer{false, kUntouched, 0};
  page.arm(writer);
  answer.given = read_clock_once<kBlockV, ScriptedCounter>(page.watched(), {}, id, answer.time) ==
                 Attempt::kDone;
  answer.loads = page.disarm();
  return answer;
}

template <class Read>
void check_every_moment(Read read, bool must_answer) {
  ScriptedCounter::always(kCounter);
  WatchedPage page;
  const test::PageWriter write(kBlockV, page.written());
  for (const NamedClock& clock : kServedClocks) {
    write_new(write);
    const SecNsec new_time = read(page, clock.id, nullptr).time;
    write_old(write);
    const Answer old = read(page, clock.id, nullptr);
    REQUIRE(old.given);
    REQUIRE_FALSE(old.time == new_time);
    int answers = 0;
    for (unsigned begin = 1; begin <= old.loads + 1; ++begin) {
      for (unsigned end = begin; end <= begin + old.loads; ++end) {
        write_old(write);
        Writer writer(page.written(), begin, end);
        const Answer answer = read(page, clock.id, &writer);
        answers += answer.given ? 1 : 0;
        const bool whole = answer.time == old.time || answer.time == new_time;
        if (answer.given ? !whole : (must_answer || !(answer.time == kUntouched))) {
          CAPTURE(clock.name, begin, end, answer.given, answer.time.sec, answer.time.nsec);
          REQUIRE(answer.given);
          REQUIRE(whole);
        }
      }
    }
    CHECK(answers > 0);
  }
}

TEST_CASE("an update at any moment gives the time before it or after it", "[vvar]") {
  check_every_moment(read_full, true);
}

TEST_CASE("on the hot path it does so or hands over", "[vvar]") {
  check_every_moment(read_hot, false);
}

TEST_CASE("seq odd for ever ends in a refusal", "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write, 9);
  ScriptedCounter::always(kCounter);
  for (const ClockId id : {kMonotonic, kMonotonicRaw, kRealtimeCoarse}) {
    CAPTURE(id);
    SecNsec time = kUntouched;
    CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(page.binding(), id, time));
    CHECK(time == kUntouched);
  }
  CHECK(ScriptedCounter::reads() == 0);
}

TEST_CASE("a writer at every read ends in a refusal after the bound, not before", "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write);
  std::uint32_t seq = 8;
  ScriptedCounter::run([&](std::uint64_t) {
    page.write.seq(seq += 2);
    return kCounter;
  });
  SecNsec time = kUntouched;
  CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(page.binding(), kMonotonic, time));
  CHECK(time == kUntouched);
  CHECK(ScriptedCounter::reads() == kMaxAttempts);
}

TEST_CASE("the writer may take all but the last attempt", "[vvar]") {
  test::Page<KindV> page;
  test::write_page_at_rest(page.write);
  ScriptedCounter::run([&](std::uint64_t before) {
    if (before + 1 < kMaxAttempts) {
      page.write.seq(static_cast<std::uint32_t>(before) * 2 + 10);
    }
    return k2Ghz.cycle_last + 2000;
  });
  SecNsec time{};
  CHECK(read_clock<kBlockV, ScriptedCounter>(page.binding(), kMonotonic, time));
  CHECK(time == SecNsec{1001, 2000});
}

// Without its seq: only where both are one load.
TEST_CASE("a mode that changes in the middle is read anew, with its seq or without", "[vvar]") {
  for (const std::uint32_t seq : {arch::kTwoRegisters ? 12U : 8U, 10U}) {
    for (const std::int32_t mode : {0, 2, 3}) {
      CAPTURE(seq, mode);
      test::Page<KindV> page;
      test::write_page_at_rest(page.write);
      ScriptedCounter::run([&](std::uint64_t) {
        page.write.mode(mode);  // a clock source without a page here: the kernel must be asked
        page.write.seq(seq);
        return kCounter;
      });
      SecNsec time = kUntouched;
      CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(page.binding(), kMonotonic, time));
      CHECK(time == kUntouched);
      CHECK(ScriptedCounter::reads() == 1);
    }
  }
}

}  // namespace
}  // namespace vvarclock::vvar
