// The tables for people.
#include "doctor/text.h"
#include "bench/results.h"
#include "core/serve/version.h"

namespace vvarclock::bench {
namespace {

using doctor::fixed;
using doctor::left;
using doctor::right;

constexpr std::size_t kNameWidth = 27;
constexpr std::size_t kCellWidth = 23;
constexpr std::size_t kRatioWidth = 7;

// Three digits that count.
std::string figure(double value) { return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

std::string marked(const std::string& text, bool unstable) { return text + (unstable ? '!' : ' '); }

class Tables {
 public:
  explicit Tables(const Results& results) : r_(results) {}

  std::string text() {
    head();
    back_to_back();
    cycles();
    bare();
    inside_work(Shape::kLoads);
    inside_work(Shape::kArithmetic);
    tails();
    threads();
    for (const std::string& warning : warnings(r_)) {
      text_ += "\nWarning: " + warning + '\n';
    }
    return std::move(text_);
  }

 private:
  void line(const std::string& text) {
    text_ += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  }

  void head() {
    const Machine& m = r_.machine;
    line(std::string("vvarclock ") + serve::kVersion + " on " + m.kernel + ", " + m.cpu + ", " +
         std::to_string(m.cpus) + (m.cpus == 1 ? " CPU" : " CPUs") +
         (m.hypervisor.empty() ? "" : ", guest of " + m.hypervisor) + ", " + m.libc);
    line("Clock source " + (m.clock_source.empty() ? "not told" : m.clock_source) +
         ", clock mode " + (m.clock_mode.empty() ? "unknown" : m.clock_mode) + ", layout " +
         (m.layout.empty() ? "none" : m.layout) + "; TSC " + fixed(r_.tsc_hz / 1e6, 2) +
         " MHz by CLOCK_MONOTONIC_RAW");
    line(std::string(m.has_rdtscp ? "" : "This CPU does not offer rdtscp. ") +
         "Ordered, the default, is " + m.ordered + " here. By system call: " + syscalls());
    const Effort& e = r_.plan.effort;
    line(std::to_string(e.processes) + " fresh processes, in each " + std::to_string(e.rounds) +
         " batches of " + std::to_string(e.batch_ns / 1000) +
         " us of everything in turn. Medians; the percentage is the median error.");
    const Cell& alone = r_.cells[r_.plan.alone(Shape::kBackToBack)];
    const Cell* const call = r_.cell(Shape::kBackToBack, &kBare[1], kNoColumn);
    line("Every figure holds the loop around it: " + figure(alone.ns.median) +
         " ns, with a call that returns at once " + figure(call->ns.median) + " ns.");
  }

  [[nodiscard]] std::string syscalls() const {
    std::string all = "CLOCK_PROCESS_CPUTIME_ID";
    for (const std::string& name : r_.machine.by_syscall) {
      all += ", " + name;
    }
    return all + '.';
  }

  // libc's cells have no ratio and are narrower.
  static std::size_t cell_width(std::size_t column) {
    return kCellWidth - (column == kLibc ? kRatioWidth : 0);
  }

  void titles(std::size_t width, std::size_t columns) {
    std::string text(kNameWidth, ' ');
    for (std::size_t i = 0; i < columns; ++i) {
      text += right(r_.plan.columns[i].title, width == kCellWidth ? cell_width(i) : width);
    }
    line(text);
  }

  // Not for the system call, which is hundreds of times as slow.
  [[nodiscard]] static std::string times(const Cell& cell) {
    return cell.times.median < 0.1 ? "" : 'x' + fixed(cell.times.median, 2);
  }

  void back_to_back() {
    line("\nBack to back: ns per call, error, times as fast as libc");
    titles(kCellWidth, r_.plan.columns.size());
    for (const Call* const call : r_.plan.calls) {
      std::string text = left(call->name, kNameWidth);
      for (std::size_t column = 0; column < r_.plan.columns.size(); ++column) {
        const Cell& cell = *r_.cell(Shape::kBackToBack, call, column);
        const std::string error = fixed(100 * cell.ns.error, 1) + '%';
        text += right(figure(cell.ns.median) + right(marked(error, cell.unstable), 7) +
                          left(' ' + times(cell), column == kLibc ? 0 : kRatioWidth),
                      cell_width(column));
      }
      line(text);
    }
  }

  void cycles() {
    constexpr std::size_t kWidth = 17;
    line("\nBack to back: TSC cycles per call (the counter's own cycles, not the core's)");
    titles(kWidth, r_.plan.columns.size());
    for (const Call* const call : r_.plan.calls) {
      std::string text = left(call->name, kNameWidth);
      for (std::size_t column = 0; column < r_.plan.columns.size(); ++column) {
        text += right(fixed(r_.cell(Shape::kBackToBack, call, column)->tsc_cycles, 1), kWidth);
      }
      line(text);
    }
  }

  void bare() {
    line("\nThe counter by itself");
    line(left("", kNameWidth) + right("ns", 9) + right("error", 9) + right("TSC cycles", 12) +
         right("ns in loads", 14) + right("ns in arithmetic", 18));
    for (const Call* const bare : r_.plan.bare) {
      const Cell& cell = *r_.cell(Shape::kBackToBack, bare, kNoColumn);
      std::string text = left(bare->name, kNameWidth) + right(figure(cell.ns.median), 9) +
                         right(marked(fixed(100 * cell.ns.error, 1) + '%', cell.unstable), 9) +
                         right(fixed(cell.tsc_cycles, 1), 12);
      if (bare->form != Form::kNothing) {
        text += right(figure(r_.cell(Shape::kLoads, bare, kNoColumn)->ns.median), 14) +
                right(figure(r_.cell(Shape::kArithmetic, bare, kNoColumn)->ns.median), 18);
      }
      line(text);
    }
  }

  void inside_work(Shape shape) {
    const Cell& work = r_.cells[r_.plan.alone(shape)];
    line(std::string("\nIn work: ns ") + title(shape) + " (" + figure(work.ns.median) +
         " ns by themselves), median absolute deviation, times as fast as libc");
    titles(kCellWidth, r_.plan.columns.size() - 1);
    for (const Call* const call : r_.plan.calls) {
      std::string text = left(call->name, kNameWidth);
      for (std::size_t column = 0; column + 1 < r_.plan.columns.size(); ++column) {
        const Cell& cell = *r_.cell(shape, call, column);
        text += right(fixed(cell.ns.median, 2) +
                          right(marked(fixed(cell.ns.deviation, 2), cell.unstable), 7) +
                          left(' ' + times(cell), column == kLibc ? 0 : kRatioWidth),
                      cell_width(column));
      }
      line(text);
    }
  }

  void tails() {
    constexpr std::size_t kWidth = 11;
    line(std::string("\nTail of ") + r_.plan.chosen->name +
         ": ns of single calls between two ordered counter reads");
    line(left("", kNameWidth) + right("p50", kWidth) + right("p99", kWidth) +
         right("p99.9", kWidth) + right("max", kWidth) + right("calls", kWidth));
    for (std::size_t i = 0; i < r_.tails.size(); ++i) {
      const Histogram& tail = r_.tails[i];
      std::string text =
          left(i < r_.plan.columns.size() ? r_.plan.columns[i].title : "the counter reads alone",
               kNameWidth);
      for (const double part : {0.5, 0.99, 0.999, 1.0}) {
        text += right(figure(r_.ns(tail.quantile(part))), kWidth);
      }
      line(text + right(std::to_string(tail.count()), kWidth));
    }
  }

  void threads() {
    constexpr std::size_t kWidth = 28;
    line(std::string("\nThreads calling ") + r_.plan.chosen->name +
         " together: million calls per second of processor time, error, times one thread's");
    std::string text(kNameWidth, ' ');
    for (const unsigned count : r_.plan.threads) {
      text += right(std::to_string(count) + (count == 1 ? " thread" : " threads"), kWidth);
    }
    line(text);
    for (std::size_t column = 0; column < r_.plan.columns.size(); ++column) {
      text = left(r_.plan.columns[column].title, kNameWidth);
      const Summary& one = r_.throughput[throughput_index(r_.plan, 0, column)];
      for (std::size_t i = 0; i < r_.plan.threads.size(); ++i) {
        const Summary& sum = r_.throughput[throughput_index(r_.plan, i, column)];
        text += right(
            fixed(sum.median / 1e6, 2) +
                right(marked(fixed(100 * sum.error, 1) + '%', is_unstable(sum)), 8) +
                left(i == 0 || one.median == 0 ? "" : " x" + fixed(sum.median / one.median, 2),
                     i == 0 ? 0 : 7),
            kWidth);
      }
      line(text);
    }
  }

  const Results& r_;
  std::string text_;
};

}  // namespace

std::string as_text(const Results& results) { return Tables(results).text(); }

}  // namespace vvarclock::bench
