// Guards against: an ordering that options, reports and programs call by different names.
#include "arch/ordering.h"

#include <string>

#include "test/support/catch.h"

namespace vvarclock::arch {
namespace {

TEST_CASE("every ordering has the name that users give it", "[arch]") {
  CHECK(std::string(name(Ordering::kUnordered)) == "unordered");
  CHECK(std::string(name(Ordering::kLfence)) == "lfence");
  CHECK(std::string(name(Ordering::kRdtscp)) == "rdtscp");
  CHECK(std::string(name(static_cast<Ordering>(200))) == "?");
}

}  // namespace
}  // namespace vvarclock::arch
