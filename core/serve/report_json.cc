// The report for machines: one line, one object.
#include <array>
#include <utility>

#include "core/serve/report.h"
#include "core/serve/version.h"

namespace vvarclock::serve {
namespace {

ReportBuffer& key(ReportBuffer& out, const char* name) noexcept { return out.json(name) << ": "; }

const char* boolean(bool value) noexcept { return value ? "true" : "false"; }

void address_or_null(ReportBuffer& out, const void* address) noexcept {
  if (address == nullptr) {
    out << "null";
    return;
  }
  out << '"';
  out.hex(reinterpret_cast<std::uintptr_t>(address)) << '"';
}

// LINUX_VERSION_CODE: a byte each for patch level and sublevel, the rest is the version.
void version_code(ReportBuffer& out, std::uint32_t code) noexcept {
  if (code == 0) {
    out << "null";
    return;
  }
  out << '"';
  out.decimal(code >> 16) << '.';
  out.decimal((code >> 8) & 255U) << '.';
  out.decimal(code & 255U) << '"';
}

void findings(ReportBuffer& out, const discover::Discovery& found, bool bound) noexcept {
  key(out, "layout");
  if (bound && found.layout != nullptr) {
    out.json(found.layout->name);
  } else {
    out << "null";
  }
  key(out << ", ", "confirmed_by_code") << boolean(bound && found.confirmed_by_code);
  key(out << ", ", "clock_mode");
  if (bound) {
    out.json(arch::clock_mode_name(clock_mode_now(found)));
  } else {
    out << "null";
  }
  key(out << ", ", "time_namespace") << boolean(bound && in_time_namespace(found));
  key(out << ", ", "vdso");
  address_or_null(out, found.image.bytes.data());
  key(out << ", ", "data_page");
  address_or_null(out, bound ? found.binding.data : nullptr);
  key(out << ", ", "linux_version_code");
  version_code(out, found.image.linux_version_code);
  const auto data = static_cast<std::int64_t>(found.hints.data);
  key(out << ", ", "code") << '{';
  key(out, "anchor").json(discover::describe(found.hints.anchor));
  key(out << ", ", "data") << (data < 0 ? "-" : "");
  out.decimal(static_cast<std::uint64_t>(data < 0 ? -data : data));
  key(out << ", ", "stride").decimal(found.hints.stride);
  key(out << ", ", "highest_id").decimal(found.hints.highest_id);
  key(out << ", ", "hpet") << boolean(found.hints.hpet) << "}, ";
}

void services(ReportBuffer& out, const Report& report) noexcept {
  key(out, "served") << '{';
  const char* comma = "";
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    key(out << comma, clock.name).json(word(service(report, clock.id)));
    comma = ", ";
  }
  key(out << "}, ", "reasons") << '{';
  comma = "";
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    const Service who = service(report, clock.id);
    if (who != Service::kReader) {
      key(out << comma, clock.name).json(describe(who));
      comma = ", ";
    }
  }
  out << '}';
}

void clock_or_null(ReportBuffer& out, std::int32_t id) noexcept {
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    if (id >= 0 && clock.id == static_cast<vvar::ClockId>(id)) {
      out.json(clock.name);
      return;
    }
  }
  out << "null";
}

// As many as there is room for, the likeliest first, and how many are left out: the object must
// end.
void refusals(ReportBuffer& out, const discover::Discovery* found) noexcept {
  constexpr std::size_t kLongestAndTheEnd = 256;
  const std::size_t count = found == nullptr ? 0 : found->refusal_count;
  key(out, "refusals") << '[';
  std::size_t i = 0;
  for (; i < count && out.view().size() + kLongestAndTheEnd < kReportSize; ++i) {
    const discover::Refusal& refusal = found->refusals[i];
    key(out << (i == 0 ? "{" : ", {"), "layout").json(refusal.layout->name);
    key(out << ", ", "test").json(describe(refusal.test));
    key(out << ", ", "clock");
    clock_or_null(out, refusal.clock);
    key(out << ", ", "value").decimal(refusal.value) << '}';
  }
  out << ']';
  if (i < count) {
    key(out << ", ", "refusals_left_out").decimal(count - i);
  }
}

// Counter units, step by step; null when the counter could not be read.
void start_up(ReportBuffer& out, const Report& report) noexcept {
  key(out, "start_up_cycles");
  if (report.began == 0 || report.discovery == nullptr) {
    out << "null";
    return;
  }
  const discover::StepEnds& ends = report.discovery->step_ends;
  const std::array<std::pair<const char*, std::uint64_t>, 6> steps{{{"options", ends.begin},
                                                                    {"image", ends.image},
                                                                    {"parse", ends.parsed},
                                                                    {"scan", ends.scanned},
                                                                    {"probe", ends.probed},
                                                                    {"attach", report.ended}}};
  std::uint64_t last = report.began;
  const char* comma = "{";
  for (const auto& [name, end] : steps) {
    const std::uint64_t reached = end == 0 ? last : end;
    key(out << comma, name).decimal(reached - last);
    last = reached;
    comma = ", ";
  }
  out << '}';
}

const char* outcome_word(const Report& report) noexcept {
  return report.discovery == nullptr ? "not-looked" : word(report.discovery->outcome);
}

}  // namespace

void append_json_members(const Report& report, ReportBuffer& out) noexcept {
  key(out, "version").json(kVersion);
  key(out << ", ", "attached") << boolean(report.attached);
  key(out << ", ", "on") << boolean(report.options->on);
  key(out << ", ", "source").json(name(report.options->source));
  key(out << ", ", "order").json(arch::name(report.ordering));
  key(out << ", ", "counter_allowed") << boolean(report.counter_allowed);
  key(out << ", ", "outcome").json(outcome_word(report)) << ", ";
  const discover::Discovery nothing;
  findings(out, report.discovery == nullptr ? nothing : *report.discovery, is_bound(report));
  start_up(out, report);
  out << ", ";
  services(out, report);
  out << ", ";
  refusals(out, report.discovery);
}

void append_json(const Report& report, ReportBuffer& out) noexcept {
  out << '{';
  append_json_members(report, out);
  out << "}\n";
}

}  // namespace vvarclock::serve
