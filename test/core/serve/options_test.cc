// Guards: a misspelt or hostile option value must take the safe default and be recorded; case must
// not matter.
#include "core/serve/options.h"

#include <map>
#include <string>

#include "test/support/catch.h"

using namespace vvarclock;
using serve::OrderChoice;
using serve::RawChoice;
using serve::ReportChoice;
using serve::Source;

namespace {

std::map<std::string, std::string> environment;

const char* lookup(const char* variable) {
  const auto found = environment.find(variable);
  return found == environment.end() ? nullptr : found->second.c_str();
}

serve::Options parse(std::map<std::string, std::string> variables) {
  environment = std::move(variables);
  return serve::parse_options(&lookup);
}

}  // namespace

TEST_CASE("an empty environment gives the defaults of the table") {
  const serve::Options options = parse({});
  CHECK(options.on);
  CHECK(options.order == OrderChoice::kOrdered);
  CHECK(options.source == Source::kAuto);
  CHECK(options.raw == RawChoice::kAuto);
  CHECK(options.report == ReportChoice::kNone);
  CHECK(options.report_path == nullptr);
  CHECK(options.bad_count == 0);
}

TEST_CASE("every variable begins with the prefix that attach.cc looks for") {
  for (const serve::OptionRow& row : serve::option_table()) {
    CHECK(std::string_view(row.variable).starts_with(serve::kVariablePrefix));
  }
}

TEST_CASE("every documented value is taken, in any case") {
  CHECK_FALSE(parse({{"VVARCLOCK", "OFF"}}).on);
  CHECK_FALSE(parse({{"VVARCLOCK", "off"}}).on);
  CHECK(parse({{"VVARCLOCK", "On"}}).on);
  CHECK(parse({{"VVARCLOCK_ORDER", "Ordered"}}).order == OrderChoice::kOrdered);
  CHECK(parse({{"VVARCLOCK_ORDER", "UNORDERED"}}).order == OrderChoice::kUnordered);
  CHECK(parse({{"VVARCLOCK_ORDER", "lFence"}}).order == OrderChoice::kLfence);
  CHECK(parse({{"VVARCLOCK_ORDER", "rdtscp"}}).order == OrderChoice::kRdtscp);
  CHECK(parse({{"VVARCLOCK_SOURCE", "vvar"}}).source == Source::kVvar);
  CHECK(parse({{"VVARCLOCK_SOURCE", "Syscall"}}).source == Source::kSyscall);
  CHECK(parse({{"VVARCLOCK_RAW", "AUTO"}}).raw == RawChoice::kAuto);
  CHECK(parse({{"VVARCLOCK_RAW", "syscall"}}).raw == RawChoice::kSyscall);
  CHECK(parse({{"VVARCLOCK_REPORT", "1"}}).report == ReportChoice::kStderr);
  CHECK(parse({{"VVARCLOCK_REPORT", "JSON"}}).report == ReportChoice::kJson);
}

TEST_CASE("a report path is what has a slash in it") {
  const serve::Options options = parse({{"VVARCLOCK_REPORT", "/tmp/Report.json"}});
  CHECK(options.report == ReportChoice::kFile);
  CHECK(std::string(options.report_path) == "/tmp/Report.json");
  CHECK(parse({{"VVARCLOCK_REPORT", "./r"}}).report == ReportChoice::kFile);
}

TEST_CASE("an unknown value takes the default and is recorded once, the others stay in force") {
  const serve::Options options = parse({{"VVARCLOCK", "maybe"},
                                        {"VVARCLOCK_ORDER", "unordered "},
                                        {"VVARCLOCK_SOURCE", "syscall"},
                                        {"VVARCLOCK_REPORT", "stdout"}});
  CHECK(options.on);
  CHECK(options.order == OrderChoice::kOrdered);
  CHECK(options.source == Source::kSyscall);
  CHECK(options.report == ReportChoice::kNone);
  REQUIRE(options.bad_count == 3);
  CHECK(std::string(options.bad[0].variable) == "VVARCLOCK");
  CHECK(std::string(options.bad[0].value) == "maybe");
  CHECK(std::string(options.bad[0].taken) == "on");
  CHECK(std::string(options.bad[1].variable) == "VVARCLOCK_ORDER");
  CHECK(std::string(options.bad[1].taken) == "ordered");
  CHECK(std::string(options.bad[2].variable) == "VVARCLOCK_REPORT");
}

TEST_CASE("an empty value counts as unset") {
  const serve::Options options = parse({{"VVARCLOCK_ORDER", ""}, {"VVARCLOCK_REPORT", ""}});
  CHECK(options.order == OrderChoice::kOrdered);
  CHECK(options.report == ReportChoice::kNone);
  CHECK(options.bad_count == 0);
}

TEST_CASE("huge values and control characters are unknown values, not faults") {
  const std::string huge(1 << 20, 'x');
  const serve::Options options =
      parse({{"VVARCLOCK_ORDER", huge}, {"VVARCLOCK_SOURCE", "\x01\x7f\xff"}});
  CHECK(options.order == OrderChoice::kOrdered);
  CHECK(options.source == Source::kAuto);
  CHECK(options.bad_count == 2);
}

TEST_CASE(
    "every row of the table names a variable that is parsed and a default that is one of its "
    "values") {
  for (const serve::OptionRow& row : serve::option_table()) {
    INFO(row.variable);
    CHECK(parse({{row.variable, "no such value"}}).bad_count == 1);
    CHECK(std::string(row.help).size() > 10);
  }
}

TEST_CASE("orders are resolved to what the CPU offers") {
  using arch::Ordering;
  CHECK(serve::resolve(OrderChoice::kOrdered, true) == Ordering::kRdtscp);
  CHECK(serve::resolve(OrderChoice::kOrdered, false) == Ordering::kLfence);
  CHECK(serve::resolve(OrderChoice::kRdtscp, true) == Ordering::kRdtscp);
  CHECK(serve::resolve(OrderChoice::kRdtscp, false) == Ordering::kLfence);
  CHECK(serve::resolve(OrderChoice::kLfence, true) == Ordering::kLfence);
  CHECK(serve::resolve(OrderChoice::kUnordered, true) == Ordering::kUnordered);
}

TEST_CASE("names are the values of the variables") {
  for (const auto choice : {OrderChoice::kOrdered, OrderChoice::kUnordered, OrderChoice::kLfence,
                            OrderChoice::kRdtscp}) {
    CHECK(parse({{"VVARCLOCK_ORDER", name(choice)}}).order == choice);
  }
  for (const auto source : {Source::kAuto, Source::kVvar, Source::kSyscall}) {
    CHECK(parse({{"VVARCLOCK_SOURCE", name(source)}}).source == source);
  }
}
