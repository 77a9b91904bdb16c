// Guards the reading of sysfs: a missing folder must give nothing, not a guess.
#include "doctor/clock_source.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "test/support/catch.h"

namespace vvarclock::doctor {
namespace {

class Root {
 public:
  Root() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Root() { std::filesystem::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/vvarclock-sysfs-XXXXXX";
};

const std::string kFolder = "/sys/devices/system/clocksource/clocksource0/";

TEST_CASE("the current source, the available ones and the words about clocks") {
  const Root root;
  root.write(kFolder + "current_clocksource", "hpet\n");
  root.write(kFolder + "available_clocksource", "tsc hpet acpi_pm \n");
  root.write("/proc/cmdline", "quiet tsc=unstable root=/dev/sda1 clocksource=hpet notscx notsc\n");
  const ClockSource source = read_clock_source(root.path());
  CHECK(source.current == "hpet");
  CHECK(source.available == std::vector<std::string>{"tsc", "hpet", "acpi_pm"});
  CHECK(source.boot_words == std::vector<std::string>{"tsc=unstable", "clocksource=hpet", "notsc"});
}

TEST_CASE("nothing is concluded from what is not there") {
  const Root root;
  const ClockSource nothing = read_clock_source(root.path());
  CHECK(nothing.current.empty());
  CHECK(nothing.available.empty());
  CHECK(nothing.boot_words.empty());
  root.write(kFolder + "available_clocksource", "\n");
  CHECK(read_clock_source(root.path()).available.empty());
}

TEST_CASE("words are found whole and joined") {
  CHECK(contains({"tsc-early", "hpet"}, "hpet"));
  CHECK_FALSE(contains({"tsc-early", "hpet"}, "tsc"));
  CHECK(join({"a", "b"}) == "a, b");
  CHECK(join({}) == "none");
}

}  // namespace
}  // namespace vvarclock::doctor
