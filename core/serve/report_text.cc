// The report for people: a few lines, each starting with the library's name because the host writes
// to the same place.
#include "core/serve/report.h"
#include "core/serve/version.h"

namespace vvarclock::serve {
namespace {

ReportBuffer& line(ReportBuffer& out) noexcept { return out << "vvarclock: "; }

const char* clock_name(std::int32_t id) noexcept {
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    if (id >= 0 && clock.id == static_cast<vvar::ClockId>(id)) {
      return clock.name;
    }
  }
  return nullptr;
}

void append_vdso(ReportBuffer& out, const discover::VdsoImage& image) noexcept {
  if (image.bytes.data() == nullptr) {
    return;
  }
  line(out) << "vDSO at ";
  out.hex(reinterpret_cast<std::uintptr_t>(image.bytes.data()));
  if (const std::uint32_t code = image.linux_version_code; code != 0) {
    out << ", of Linux ";
    out.decimal(code >> 16) << '.';
    out.decimal((code >> 8) & 255U) << '.';
    out.decimal(code & 255U);
  }
  out << '\n';
}

void append_refusal(ReportBuffer& out, const discover::Refusal& refusal) noexcept {
  line(out) << "layout " << refusal.layout->name << " refused: " << describe(refusal.test);
  if (const char* const clock = clock_name(refusal.clock)) {
    out << " (" << clock << ')';
  }
  if (refusal.value != 0) {
    out << ", found ";
    out.decimal(refusal.value);
  }
  out << '\n';
}

// As many as there is room for, the likeliest first, and how many are left out: the clocks come
// after them.
void append_refusals(ReportBuffer& out, const discover::Discovery& found) noexcept {
  constexpr std::size_t kLongestAndTheRest = 1280;  // 190, 60, and 134 for each clock
  std::size_t i = 0;
  for (; i < found.refusal_count && out.view().size() + kLongestAndTheRest < kReportSize; ++i) {
    append_refusal(out, found.refusals[i]);
  }
  if (i < found.refusal_count) {
    line(out).decimal(found.refusal_count - i) << " more layouts refused\n";
  }
}

void append_binding(ReportBuffer& out, const Report& report) noexcept {
  const discover::Discovery& found = *report.discovery;
  line(out) << "vvar page at ";
  out.hex(reinterpret_cast<std::uintptr_t>(found.binding.data))
      << ", layout " << found.layout->name << " believed ("
      << (found.confirmed_by_code ? "the vDSO's code, " : "declared offsets, ")
      << "the bytes and the system call agree)\n";
  line(out) << "clock mode " << arch::clock_mode_name(clock_mode_now(found)) << ", order "
            << arch::name(report.ordering) << (report.counter_allowed ? "" : ", counter forbidden")
            << (in_time_namespace(found) ? ", in a time namespace" : "") << '\n';
}

// What the vDSO's code says, for whoever describes its layout next.
void append_hints(ReportBuffer& out, const discover::CodeHints& hints) noexcept {
  line(out) << "the vDSO's code: data at " << discover::describe(hints.anchor);
  const auto data = static_cast<std::int64_t>(hints.data);
  out << (data < 0 ? " - " : " + ");
  out.hex(static_cast<std::uint64_t>(data < 0 ? -data : data)) << ", second block + ";
  out.hex(hints.stride) << ", clock ids to ";
  out.decimal(hints.highest_id) << (hints.hpet ? ", reads an HPET" : "") << " (0: not seen)\n";
}

void append_found(ReportBuffer& out, const Report& report) noexcept {
  const discover::Discovery& found = *report.discovery;
  append_vdso(out, found.image);
  if (is_bound(report)) {
    append_binding(out, report);
  } else {
    line(out) << describe(found.outcome);
    if (found.outcome == discover::Outcome::kBadImage) {
      out << ": " << describe(found.image_error);
    }
    out << '\n';
  }
  if (found.outcome == discover::Outcome::kNoLayout) {
    append_hints(out, found.hints);
  }
  append_refusals(out, found);
}

void append_services(ReportBuffer& out, const Report& report) noexcept {
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    const Service who = service(report, clock.id);
    line(out) << clock.name << " by ";
    if (who == Service::kReader) {
      out << "the reader";
    } else {
      out << (who == Service::kRawLine ? "" : "the system call: ") << describe(who);
    }
    out << '\n';
  }
}

}  // namespace

void append_text(const Report& report, ReportBuffer& out) noexcept {
  line(out) << kVersion << (report.attached ? ", attached" : ", not attached")
            << (report.options->on ? ", source " : ", off, source ") << name(report.options->source)
            << '\n';
  if (report.discovery != nullptr) {
    append_found(out, report);
  }
  append_services(out, report);
}

}  // namespace vvarclock::serve
