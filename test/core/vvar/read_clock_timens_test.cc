// Guards against: a time namespace that is overlooked, taken for a writer, or given to a clock that
// has no offset; a page that is exchanged in the middle of a read (setns, which a signal handler
// may call).
//
// Reference: kernel/time/namespace.c: ids 1, 4 and 6 get the monotonic offset, 7 the boottime
// offset, 0, 5 and 11 none; offset seconds are signed, nanoseconds 0 .. 10^9 - 1.
#include "core/vvar/read_clock.h"

#include <cstring>

#include "arch/int128.h"
#include "test/core/vvar/pages.h"
#include "test/support/catch.h"
#include "test/support/scripted_counter.h"
#include "test/support/watched_page.h"

namespace vvarclock::vvar {
namespace {

using S128 = arch::Int128;
using test::k2Ghz;
using test::KindD;
using test::KindDm;
using test::KindV;
using test::kUntouched;
using test::ScriptedCounter;

constexpr std::uint64_t kDelta = 6000;  // 3000 ns

struct Offset {
  std::int64_t sec;
  std::uint64_t nsec;
};

SecNsec in_root(ClockId id, std::uint64_t first_sec = 1000) {
  return {first_sec + id, id * 1000U + (is_in(id, kCoarseIds) ? 0 : kDelta / 2)};
}

SecNsec in_namespace(ClockId id, const Offset& monotonic, const Offset& boottime,
                     std::uint64_t first_sec = 1000) {
  const bool uses_monotonic = id == 1 || id == 4 || id == 6;
  const Offset offset = uses_monotonic ? monotonic : id == 7 ? boottime : Offset{0, 0};
  const SecNsec root = in_root(id, first_sec);
  const S128 ns = (static_cast<S128>(root.sec) + offset.sec) * kNsPerSec +
                  static_cast<S128>(root.nsec + offset.nsec);
  return {static_cast<std::uint64_t>(ns / kNsPerSec), static_cast<std::uint64_t>(ns % kNsPerSec)};
}

template <class Kind>
struct Namespace {
  test::Page<Kind> mark;
  test::Page<Kind> real;

  Binding binding() const {
    Binding b;
    b.data = mark.data();
    b.timens_data = real.data();
    return b;
  }
};

TEMPLATE_TEST_CASE("every clock in a namespace is the real page's time plus its offset", "[vvar]",
                   KindD, KindDm, KindV) {
  const std::array<Offset, 6> offsets{{{0, 0},
                                       {5, 7},
                                       {86400LL * 365 * 50, 999'999'999},
                                       {-1000, 0},
                                       {-1, 999'999'999},
                                       {-500, 123'456'789}}};
  for (const std::int32_t mark : {0x7fffffff, -1}) {
    for (const Offset& monotonic : offsets) {
      for (const Offset& boottime : offsets) {
        Namespace<TestType> ns;
        test::write_page_at_rest(ns.real.write);
        ns.mark.write.timens(mark, monotonic.sec, monotonic.nsec, boottime.sec, boottime.nsec);
        ScriptedCounter::always(k2Ghz.cycle_last + kDelta);
        for (const NamedClock& clock : kServedClocks) {
          CAPTURE(clock.name, mark, monotonic.sec, monotonic.nsec, boottime.sec, boottime.nsec);
          SecNsec time{};
          REQUIRE(read_clock<TestType::kBlock, ScriptedCounter>(ns.binding(), clock.id, time));
          CHECK(time == in_namespace(clock.id, monotonic, boottime));
        }
      }
    }
  }
}

TEST_CASE("coarse clocks in a namespace do not read the counter", "[vvar]") {
  Namespace<KindV> ns;
  test::write_page_at_rest(ns.real.write);
  ns.mark.write.timens(0x7fffffff, 5, 0, 6, 0);
  ScriptedCounter::always(0);
  SecNsec time{};
  CHECK(read_clock<kBlockV, ScriptedCounter>(ns.binding(), kMonotonicCoarse, time));
  CHECK(read_clock<kBlockV, ScriptedCounter>(ns.binding(), kRealtimeCoarse, time));
  CHECK(ScriptedCounter::reads() == 0);
}

TEST_CASE("in a namespace, too, large and negative deltas, mode none and odd seq are handled",
          "[vvar]") {
  Namespace<KindV> ns;
  ns.mark.write.timens(0x7fffffff, -7, 0, 0, 0);
  SecNsec time{};
  SECTION("an hour since the last update") {
    test::write_page_at_rest(ns.real.write);
    ScriptedCounter::always(k2Ghz.cycle_last + 7'200'000'000'000);
    REQUIRE(read_clock<kBlockV, ScriptedCounter>(ns.binding(), kMonotonic, time));
    CHECK(time == SecNsec{1001 - 7 + 3600, 1000});
  }
  SECTION("a counter behind") {
    test::write_page_at_rest(ns.real.write);
    ScriptedCounter::always(k2Ghz.cycle_last - 5);
    REQUIRE(read_clock<kBlockV, ScriptedCounter>(ns.binding(), kMonotonic, time));
    CHECK(time == SecNsec{1001 - 7, 1000});
  }
  SECTION("mode none") {
    test::write_page_at_rest(ns.real.write);
    ns.real.write.mode(0);
    CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(ns.binding(), kMonotonic, time));
  }
  SECTION("a writer that never ends") {
    test::write_page_at_rest(ns.real.write, 9);
    CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(ns.binding(), kMonotonic, time));
  }
  SECTION("a writer in the middle") {
    test::write_page_at_rest(ns.real.write);
    ScriptedCounter::run([&](std::uint64_t before) {
      if (before == 0) {
        test::write_page_at_rest(ns.real.write, 10, 2000);
      }
      return k2Ghz.cycle_last;
    });
    REQUIRE(read_clock<kBlockV, ScriptedCounter>(ns.binding(), kMonotonic, time));
    CHECK(time == SecNsec{2001 - 7, 1000});
  }
}

TEST_CASE("a namespace without its real page is the kernel's", "[vvar]") {
  Namespace<KindV> ns;
  ns.mark.write.timens(0x7fffffff, 5, 0, 6, 0);
  Binding binding = ns.binding();
  binding.timens_data = nullptr;
  ScriptedCounter::always(k2Ghz.cycle_last);
  for (const NamedClock& clock : kServedClocks) {
    CAPTURE(clock.name);
    SecNsec time = kUntouched;
    CHECK_FALSE(read_clock<kBlockV, ScriptedCounter>(binding, clock.id, time));
    CHECK(time == kUntouched);
  }
  CHECK(ScriptedCounter::reads() == 0);
}

TEST_CASE("the hot path hands a namespace over", "[vvar]") {
  Namespace<KindV> ns;
  ns.mark.write.timens(0x7fffffff, 5, 0, 6, 0);
  for (const NamedClock& clock : kServedClocks) {
    CAPTURE(clock.name);
    SecNsec time = kUntouched;
    const Attempt attempt =
        read_clock_once<kBlockV, ScriptedCounter>(ns.mark.data(), {}, clock.id, time);
    CHECK(attempt == Attempt::kBusy);
    CHECK(time == kUntouched);
  }
}

// The kernel exchanges the page as a whole, at once.
class Exchange final : public test::WatchedPage::Script {
 public:
  Exchange(std::byte* page, const std::byte* other, unsigned at)
      : page_(page), other_(other), at_(at) {}
  void before_load(unsigned load) noexcept override {
    if (load == at_) {
      std::memcpy(page_, other_, test::WatchedPage::kSize);
    }
  }

 private:
  std::byte* page_;
  const std::byte* other_;
  unsigned at_;
};

void check_exchange(const std::byte* first, const std::byte* second, const std::byte* behind,
                    const SecNsec& before, const SecNsec& after, ClockId id) {
  test::WatchedPage page;
  Binding binding;
  binding.data = page.watched();
  binding.timens_data = behind;
  for (unsigned at = 1; at <= 20; ++at) {
    std::memcpy(page.written(), first, test::WatchedPage::kSize);
    Exchange exchange(page.written(), second, at);
    SecNsec time{};
    page.arm(&exchange);
    const bool given = read_clock<kBlockV, ScriptedCounter>(binding, id, time);
    page.disarm();
    CAPTURE(id, at, time.sec, time.nsec);
    REQUIRE(given);
    CHECK((time == before || time == after));
  }
}

TEST_CASE("a page that is exchanged at any moment gives the time in one namespace or the other",
          "[vvar]") {
  const Offset monotonic{-300, 5};
  const Offset boottime{70'000, 999'999'999};
  Namespace<KindV> ns;
  test::write_page_at_rest(ns.real.write);
  ns.mark.write.timens(0x7fffffff, monotonic.sec, monotonic.nsec, boottime.sec, boottime.nsec);
  ScriptedCounter::always(k2Ghz.cycle_last + kDelta);
  for (const NamedClock& clock : kServedClocks) {
    const SecNsec outside = in_root(clock.id);
    const SecNsec inside = in_namespace(clock.id, monotonic, boottime);
    check_exchange(ns.real.data(), ns.mark.data(), ns.real.data(), outside, inside, clock.id);
    check_exchange(ns.mark.data(), ns.real.data(), ns.real.data(), inside, outside, clock.id);
  }
}

}  // namespace
}  // namespace vvarclock::vvar
