// Guards against: an environment, or findings, that make a report which is no report: a control
// character, a line that does not name us, JSON that does not parse, one that is cut off.
//
// A libFuzzer target (scripts/fuzz) for core/serve/options.h, message.h and report.h. The input is
// the value of each variable, one after the other and each ended by a zero byte, and then what
// discovery found, in any combination that its types allow.
#include <array>
#include <string>
#include <string_view>

#include "core/serve/report.h"
#include "test/fuzz/input.h"
#include "test/fuzz/json_syntax.h"

namespace vvarclock::serve {
namespace {

using test::Input;
using test::require;

// Values by the option table's rows. A value that begins with byte 1 is a variable that is unset.
std::array<std::string, 8> values;

const char* lookup(const char* variable) {
  std::size_t row = 0;
  while (std::string_view(option_table()[row].variable) != variable) {
    ++row;
  }
  return values[row].starts_with('\x01') ? nullptr : values[row].c_str();
}

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') {
      return false;
    }
  }
  return true;
}

Options some_options(Input& input) {
  for (std::size_t row = 0; row < option_table().size(); ++row) {
    values[row].clear();
    for (char c = 0; !input.empty() && (c = input.take<char>()) != 0;) {
      values[row] += c;
    }
  }
  const Options options = parse_options(&lookup);
  require(options.bad_count <= option_table().size());
  require((options.report == ReportChoice::kFile) == (options.report_path != nullptr));
  for (std::size_t i = 0; i < options.bad_count; ++i) {
    const BadValue& bad = options.bad[i];
    require(bad.value == lookup(bad.variable) && *bad.value != '\0');
    TextBuffer<256> line;
    line << bad.variable << ": unknown value ";
    line.quoted(bad.value) << ", taking " << bad.taken;
    require(is_plain(line.view()) && !line.full() && line.view().ends_with(bad.taken));
  }
  return options;
}

template <class Enum>
Enum one_of(Input& input, Enum last) {
  return static_cast<Enum>(input.take<std::uint8_t>() % (static_cast<unsigned>(last) + 1));
}

const vvar::Layout* some_layout(Input& input) {
  return &vvar::kLayouts[input.take<std::uint8_t>() % vvar::kLayouts.size()];
}

struct Pages {
  alignas(8) std::array<std::byte, 4096> data{};
  alignas(8) std::array<std::byte, 4096> real{};
  alignas(8) std::array<std::byte, 64> hypervisor{};
};

discover::Discovery some_discovery(Input& input, Pages& pages) {
  discover::Discovery found;
  found.outcome = one_of(input, discover::Outcome::kNoLayout);
  found.image_error = one_of(input, discover::ImageError::kLibelf);
  const auto parts = input.take<std::uint8_t>();
  found.image.bytes = {(parts & 1) != 0 ? pages.data.data() : nullptr, 1};
  found.image.linux_version_code = input.take<std::uint32_t>();
  found.hints.anchor = one_of(input, vvar::Anchor::kAbsolute);
  found.hints.data = input.take<std::int32_t>();
  found.hints.stride = input.take<std::uint16_t>();
  found.hints.highest_id = input.take<std::uint8_t>();
  found.hints.hpet = (parts & 2) != 0;
  found.layout = some_layout(input);
  found.binding.data = pages.data.data();
  found.binding.timens_data = (parts & 4) != 0 ? pages.real.data() : nullptr;
  found.binding.counters = {(parts & 8) != 0 ? pages.hypervisor.data() : nullptr,
                            (parts & 16) != 0 ? pages.hypervisor.data() : nullptr};
  found.refusal_count = input.take<std::uint8_t>() % (found.refusals.size() + 1);
  for (std::size_t i = 0; i < found.refusal_count; ++i) {
    found.refusals[i] = {some_layout(input), one_of(input, discover::ProbeTest::kAgreement),
                         input.take<std::int8_t>(), input.take<std::uint64_t>()};
  }
  input.fill(&found.step_ends, sizeof found.step_ends);
  input.fill(pages.hypervisor.data(), pages.hypervisor.size());
  input.fill(pages.data.data(), 16);
  input.fill(pages.real.data(), 16);
  return found;
}

void check_text(const Report& report) {
  ReportBuffer out;
  append_text(report, out);
  require(!out.full() && out.view().ends_with('\n'));
  for (std::string_view left = out.view(); !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    require(line.starts_with("vvarclock: ") && is_plain(line));
    left.remove_prefix(line.size() + 1);
  }
}

void check_json(const Report& report) {
  ReportBuffer out;
  append_json(report, out);
  require(!out.full() && out.view().ends_with("}\n"));
  const std::string_view line = out.view().substr(0, out.view().size() - 1);
  require(is_plain(line) && test::is_json(line));
}

void run(Input& input) {
  static Pages pages;
  const Options options = some_options(input);
  const discover::Discovery found = some_discovery(input, pages);
  const auto parts = input.take<std::uint8_t>();
  const Report report{(parts & 1) != 0 ? &found : nullptr,
                      &options,
                      one_of(input, arch::Ordering::kRdtscp),
                      (parts & 2) != 0,
                      (parts & 4) != 0,
                      input.take<std::uint64_t>(),
                      input.take<std::uint64_t>()};
  check_text(report);
  check_json(report);
}

}  // namespace
}  // namespace vvarclock::serve

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vvarclock::test::Input input(data, size);
  vvarclock::serve::run(input);
  return 0;
}
