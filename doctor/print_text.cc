// The examination for people.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "core/serve/version.h"
#include "doctor/examination.h"
#include "doctor/other_width.h"
#include "doctor/raw_line.h"
#include "doctor/text.h"

namespace vvarclock::doctor {
namespace {

constexpr std::size_t kNameWidth = 14;
constexpr std::size_t kCallWidth = 24;
constexpr std::size_t kFigureWidth = 26;

std::string fact(const char* name, const std::string& what) {
  return left(name, kNameWidth) + what + "\n";
}

std::string address(const void* at) { return hex(reinterpret_cast<std::uintptr_t>(at)); }

std::string or_else(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text;
}

const char* yes_no(bool value) { return value ? "yes" : "no"; }

std::string library(const Library& found) {
  if (found.path.empty()) {
    return fact("library", "not loaded into this process");
  }
  return fact("library", found.first ? found.path + " answers clock_gettime: it is active"
                                     : found.path + ", behind " + found.answerer);
}

std::string refusals(const discover::Discovery& found) {
  std::string text;
  for (std::size_t i = 0; i < found.refusal_count; ++i) {
    const discover::Refusal& refusal = found.refusals[i];
    text += fact("", std::string("layout ") + refusal.layout->name + " refused: " +
                         describe(refusal.test) + " (clock " + std::to_string(refusal.clock) +
                         ", found " + std::to_string(refusal.value) + ")");
  }
  return text;
}

// What the vDSO's code refers to: what a new layout is described from.
std::string code(const discover::CodeHints& hints) {
  const auto data = static_cast<std::int64_t>(hints.data);
  const std::string place = std::string(discover::describe(hints.anchor)) + (data < 0 ? "-" : "+") +
                            hex(static_cast<std::uint64_t>(std::llabs(data)));
  return fact("vDSO code",
              "data " + (data == 0 ? "not seen" : "at " + place) + ", second block " +
                  (hints.stride == 0 ? "not seen" : "at +" + hex(hints.stride)) + ", clock ids " +
                  (hints.highest_id == 0 ? "not seen" : "to " + std::to_string(hints.highest_id)) +
                  (hints.hpet ? ", reads an HPET" : ""));
}

std::string page(const discover::Discovery& found) {
  if (found.image.bytes.data() == nullptr) {
    return fact("vDSO", describe(found.outcome));
  }
  std::string text = fact(
      "vDSO", address(found.image.bytes.data()) + ", " + std::to_string(found.image.bytes.size()) +
                  " bytes, note of Linux " + version_of(found.image.linux_version_code));
  if (found.outcome == discover::Outcome::kBound) {
    text += fact("vvar page",
                 address(found.binding.data) + ", layout " + found.layout->name + " believed: " +
                     (found.confirmed_by_code ? "the vDSO's code, " : "declared offsets, ") +
                     "the bytes and the system call agree");
    text +=
        fact("clock mode", std::string(arch::clock_mode_name(serve::clock_mode_now(found))) +
                               (serve::in_time_namespace(found) ? ", in a time namespace" : ""));
  } else {
    text += fact("vvar page", describe(found.outcome));
  }
  return text + code(found.hints) + refusals(found);
}

std::string machine(const Examination& all) {
  return fact("clock source", or_else(all.source.current, "not known") +
                                  " (available: " + join(all.source.available) + ")") +
         fact("CPU", std::string("rdtscp ") + yes_no(all.has_rdtscp) + ", invariant TSC " +
                         yes_no(all.has_invariant_tsc) + ", hypervisor " +
                         or_else(all.hypervisor, "none")) +
         fact("order", std::string(arch::name(all.ordering)) +
                           " (asked for: " + serve::name(all.options.order) + ")") +
         fact("counter", all.counter_allowed ? "may be read" : "forbidden to this process");
}

std::string pages(const std::vector<Page>& list) {
  std::string text;
  for (const Page& one : list) {
    text += "  " + left(one.name, 9) + address(one.address) + "  vDSO" +
            (one.from_vdso < 0 ? "-" : "+") +
            hex(static_cast<std::uint64_t>(std::llabs(one.from_vdso))) +
            (one.readable ? "" : "  not readable");
    for (const PageValue& value : one.values) {
      text += std::string("  ") + value.key + " " + std::to_string(value.number);
    }
    text += "\n";
  }
  return text;
}

// 16 bytes a line, each after its offset.
std::string dump(const Examination& all) {
  if (!all.wants_hex) {
    return {};
  }
  constexpr std::size_t kPerLine = 16;
  std::string text = all.head.empty() ? "\nThe data page is not known or cannot be read.\n"
                                      : "\nThe data page from the start of its clock data\n";
  for (std::size_t at = 0; at < all.head.size(); at += kPerLine) {
    text += "  " + left(hex(at), 6);
    for (std::size_t i = at; i < at + kPerLine; ++i) {
      text += " " + hex_byte(all.head[i]);
    }
    text += "\n";
  }
  return text;
}

std::string cell(const std::optional<Figure>& figure) {
  if (!figure) {
    return right("- ", kFigureWidth);
  }
  return right(fixed(figure->median, 1) + " (" + fixed(figure->low, 1) + "-" +
                   fixed(figure->high, 1) + ")" + (is_unsteady(*figure) ? "!" : " "),
               kFigureWidth);
}

std::string prices(const Examination& all) {
  std::string text = "\nns per call: median (middle half; ! = unsteady)\n" +
                     left("", kCallWidth + 2) + right("vvarclock ", kFigureWidth) +
                     right("vDSO ", kFigureWidth) + right("system call ", kFigureWidth) + "\n";
  for (const Price& price : all.prices) {
    text += "  " + left(price.name, kCallWidth) + cell(price.ours) + cell(price.vdso) +
            cell(price.syscall) + "\n";
  }
  for (const Figure& counter : all.counters) {
    text += "  " + left(counter.name, kCallWidth) + cell(counter) + "\n";
  }
  return text;
}

std::string start_up(const StartUp& cost) {
  if (cost.steps.empty()) {
    return {};
  }
  std::string text = "\nus that attaching adds to a program's start, step by step\n";
  double sum = 0;
  for (const Figure& step : cost.steps) {
    sum += step.median;
    text += "  " + left(step.name, kCallWidth) + cell(step) + "\n";
  }
  return text + "  " + left("all", kCallWidth) + right(fixed(sum, 1) + " ", kFigureWidth) +
         " and " + fixed(cost.faults, 0) + " page faults\n";
}

std::string clocks(const Examination& all) {
  std::string text = std::string("\nserved by") +
                     (all.seen ? " (observed with every clock system call refused)" : "") + "\n";
  for (const Clock& clock : all.clocks) {
    text += "  " + left(clock.name, kCallWidth) +
            (clock.served_by == "reader" ? " the reader"
             : clock.served_by == "line" ? " " + clock.reason
                                         : " the system call: " + clock.reason) +
            "\n";
  }
  return text + (all.raw_line ? "\n" + describe(*all.raw_line) : "");
}

// Broken into lines at spaces.
std::string paragraph(const std::string& words) {
  constexpr std::size_t kWidth = 96;
  std::string text;
  std::size_t at = 0;
  while (at < words.size()) {
    std::size_t end = words.size();
    if (end - at > kWidth) {
      const std::size_t space = words.rfind(' ', at + kWidth);
      end = space == std::string::npos || space <= at ? words.size() : space;
    }
    text += (at == 0 ? "- " : "  ") + words.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

}  // namespace

void print_text(const Examination& all) {
  std::string text = fact("vvarclock", std::string(serve::kVersion) + ", in a " +
                                           std::to_string(kBits) + "-bit process") +
                     fact("kernel", all.kernel + " " + all.machine);
  text += library(all.library) + page(all.found) + machine(all) + pages(all.pages) + dump(all) +
          clocks(all) + prices(all) + start_up(all.start_up) + "\n";
  for (const std::string& piece : all.advice) {
    text += paragraph(piece);
  }
  constexpr std::array<const char*, 3> kVerdicts{"Every clock is served by the reader.",
                                                 "Some clocks are served by the kernel.",
                                                 "No clock is served by the reader."};
  std::printf("%s\n%s\n", text.c_str(),
              kVerdicts[static_cast<std::size_t>(exit_status(all.clocks))]);
}

}  // namespace vvarclock::doctor
