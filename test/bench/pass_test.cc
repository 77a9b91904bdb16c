// Guards the way of the samples from one process to the other: whole or not at all.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "test/bench/scene.h"
#include "test/support/catch.h"

namespace vvarclock::bench {
namespace {

// What comes out of a pipe into which the sender writes `pass` and then closes it.
std::optional<Pass> through_a_pipe(const Plan& plan, const Pass& pass) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  bool sent = false;
  std::thread sender([&] {
    sent = send(pass, ends[1]);
    ::close(ends[1]);
  });
  std::optional<Pass> received = receive(plan, ends[0]);
  sender.join();
  ::close(ends[0]);
  CHECK(sent);
  return received;
}

TEST_CASE("a pass arrives as it was sent") {
  const Plan plan = make_plan({});
  const Pass pass = scene::pass_of(plan);
  const std::optional<Pass> received = through_a_pipe(plan, pass);
  REQUIRE(received);
  CHECK(received->tsc_hz == pass.tsc_hz);
  CHECK(received->cycles == pass.cycles);
  CHECK(received->throughput == pass.throughput);
  REQUIRE(received->tails.size() == pass.tails.size());
  CHECK(received->tails[1].store() == pass.tails[1].store());
}

TEST_CASE("what is not a whole pass of this plan is none") {
  const Plan plan = make_plan({});
  Pass shorter = scene::pass_of(plan);
  shorter.cycles.pop_back();
  CHECK_FALSE(through_a_pipe(plan, shorter));
  Pass without_rate = scene::pass_of(plan);
  without_rate.tsc_hz = 0;
  CHECK_FALSE(through_a_pipe(plan, without_rate));
  Options narrow;
  narrow.wanted = {0};
  CHECK_FALSE(through_a_pipe(plan, scene::pass_of(make_plan(narrow))));
}

TEST_CASE("a torn pass is none, and a closed pipe is noticed") {
  const Plan plan = make_plan({});
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const std::array<std::uint64_t, 2> torn{1000, 0};
  REQUIRE(::write(ends[1], torn.data(), sizeof(torn)) == sizeof(torn));
  ::close(ends[1]);
  CHECK_FALSE(receive(plan, ends[0]));
  ::close(ends[0]);
  CHECK_FALSE(send(scene::pass_of(plan), -1));
}

}  // namespace
}  // namespace vvarclock::bench
