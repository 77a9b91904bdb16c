#include "bench/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/serve/version.h"
#include "doctor/text.h"

namespace vvarclock::bench {
namespace {

using doctor::fixed;

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "''" : std::string(1, c);
  }
  return result + '\'';
}

// A name in a table of gnuplot's, which takes double quotes there and no others.
std::string label(std::string_view name) { return '"' + std::string(name) + '"'; }

std::string short_name(const Call& call) {
  const std::string_view name = call.name;
  return label(name.substr(name.starts_with("CLOCK_") ? 6 : 0));
}

constexpr const char* kStyle =
    "set grid ytics linecolor rgb '#dddddd'\n"
    "set border 3\n"
    "set tics nomirror out\n"
    "set style data histograms\n"
    "set style histogram errorbars gap 1 linewidth 1\n"
    "set style fill solid 0.9 noborder\n"
    "set errorbars linecolor rgb '#333333'\n"
    "set yrange [0:*]\n";

// In a label a percent sign would begin a format.
constexpr const char* kTailAxes =
    "set ylabel 'time of a call'\nset format y '%.0s %cs'\n"
    "set xlabel 'per cent of the calls that take less'\n"
    "set logscale xy\nset yrange [*:*]\nset xrange [1.25:*]\n"
    "set xtics ('50' 2, '90' 10, '99' 100, '99.9' 1e3, '99.99' 1e4, '99.999' 1e5, '99.9999' 1e6)\n";

// Blue and orange as in Okabe and Ito's palette, which colour-blind people can tell apart.
constexpr std::array<const char*, 5> kColours{"#7f7f7f", "#56b4e9", "#0072b2", "#e69f00",
                                              "#d55e00"};

// The same colour for the same way, with rdtscp or without.
std::string colour(const Results& r, std::size_t column) {
  constexpr std::array<std::string_view, 5> kKeys{"libc", "rdtscp", "lfence", "unordered",
                                                  "syscall"};
  std::size_t i = 0;
  while (i + 1 < kKeys.size() && kKeys[i] != r.plan.columns[column].key) {
    ++i;
  }
  return quoted(kColours[i]);
}

void append_summary(std::string& text, const Summary& summary, double unit) {
  text += ' ' + fixed(summary.median / unit, 3) + ' ' + fixed(summary.low / unit, 3) + ' ' +
          fixed(summary.high / unit, 3);
}

// The kernel's clocks are off the scale in every column.
bool is_drawn(const Call& call) { return call.id != CLOCK_PROCESS_CPUTIME_ID; }

std::string call_data(const Results& r) {
  std::string text = "$calls << EOD\n";
  for (const Call* const call : r.plan.calls) {
    if (is_drawn(*call)) {
      text += short_name(*call);
      for (std::size_t column = 0; column + 1 < r.plan.columns.size(); ++column) {
        append_summary(text, r.cell(Shape::kBackToBack, call, column)->ns, 1);
      }
      text += '\n';
    }
  }
  return text + "EOD\n";
}

std::string thread_data(const Results& r) {
  std::string text = "$threads << EOD\n";
  for (std::size_t i = 0; i < r.plan.threads.size(); ++i) {
    text += label(std::to_string(r.plan.threads[i]) +
                  (r.plan.threads[i] == 1 ? " thread" : " threads"));
    for (std::size_t column = 0; column < r.plan.columns.size(); ++column) {
      append_summary(text, r.throughput[throughput_index(r.plan, i, column)], 1e6);
    }
    text += '\n';
  }
  return text + "EOD\n";
}

// x: how many calls there are for one that takes longer than y.
std::string tail_data(const Results& r) {
  std::string text;
  for (std::size_t column = 0; column < r.plan.columns.size(); ++column) {
    const Histogram& tail = r.tails[column];
    text += "$tail" + std::to_string(column) + " << EOD\n";
    const auto calls = static_cast<double>(tail.count());
    constexpr double kStep = 1.25;
    const int steps = calls > 1 ? static_cast<int>(std::log(calls) / std::log(kStep)) : 0;
    for (int step = 1; step <= steps; ++step) {
      const double rarity = std::pow(kStep, step);
      text += fixed(rarity, 3) + ' ' + fixed(r.ns(tail.quantile(1 - 1 / rarity)), 2) + '\n';
    }
    text += fixed(calls, 0) + ' ' + fixed(r.ns(tail.maximum()), 2) + "\nEOD\n";
  }
  return text;
}

// Three lines, as gnuplot has them between double quotes.
std::string title(const Results& r) {
  const Machine& m = r.machine;
  std::string text = std::string("vvarclock ") + serve::kVersion + ": what a clock call costs\\n" +
                     m.cpu + (m.hypervisor.empty() ? "" : ", guest of " + m.hypervisor) + ", " +
                     std::to_string(m.cpus) + (m.cpus == 1 ? " CPU\\n" : " CPUs\\n") + m.kernel +
                     ", " + m.libc + ", clock source " +
                     (m.clock_source.empty() ? "not told" : m.clock_source) + ", clock mode " +
                     (m.clock_mode.empty() ? "unknown" : m.clock_mode) + ", TSC " +
                     fixed(r.tsc_hz / 1e6, 0) + " MHz";
  for (char& c : text) {
    c = c == '"' ? '\'' : c;
  }
  return '"' + text + '"';
}

std::string bars(const Results& r, const char* data, std::size_t columns) {
  std::string text = "plot ";
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t at = 2 + 3 * column;
    text += std::string(column == 0 ? "" : ", \\\n     ") + data + " using " + std::to_string(at) +
            ':' + std::to_string(at + 1) + ':' + std::to_string(at + 2) +
            (column == 0 ? ":xtic(1)" : "") + " title " + quoted(r.plan.columns[column].title) +
            " linecolor rgb " + colour(r, column);
  }
  return text + '\n';
}

std::string curves(const Results& r) {
  std::string text = "plot ";
  for (std::size_t column = 0; column < r.plan.columns.size(); ++column) {
    text += std::string(column == 0 ? "" : ", \\\n     ") + "$tail" + std::to_string(column) +
            " using 1:($2*1e-9) with lines linewidth 2 linecolor rgb " + colour(r, column) +
            " title " + quoted(r.plan.columns[column].title);
  }
  return text + '\n';
}

// The range of what the system call costs, which no bar shows.
std::string syscall_note(const Results& r) {
  double least = 0;
  double most = 0;
  for (const Call* const call : r.plan.calls) {
    if (is_drawn(*call)) {
      const double ns = r.cell(Shape::kBackToBack, call, r.plan.columns.size() - 1)->ns.median;
      least = least == 0 || ns < least ? ns : least;
      most = ns > most ? ns : most;
    }
  }
  return most == 0 ? ""
                   : " (as a system call: " + fixed(least, 0) + " to " + fixed(most, 0) + " ns)";
}

}  // namespace

std::string gnuplot_program(const Results& r, const std::string& file) {
  std::string text = call_data(r) + thread_data(r) + tail_data(r);
  text +=
      "set terminal svg size 1100,900 noenhanced font 'sans-serif,13' background rgb 'white'\n"
      "set output " +
      quoted(file) +
      "\n"
      "set multiplot title " +
      title(r) + " font ',14'\n" + kStyle;
  if (std::any_of(r.plan.calls.begin(), r.plan.calls.end(),
                  [](auto* call) { return is_drawn(*call); })) {
    text +=
        "set origin 0,0.43\nset size 1,0.46\nset key outside right top vertical\n"
        "set title " +
        quoted("Back to back: median and middle half" + syscall_note(r)) +
        "\nset ylabel 'ns per call'\nset xtics nomirror rotate by -20\n" +
        bars(r, "$calls", r.plan.columns.size() - 1);
  }
  text +=
      "unset xtics\nset xtics nomirror norotate\nset origin 0.52,0\nset size 0.48,0.43\n"
      "set title " +
      quoted(std::string("Threads calling ") + r.plan.chosen->name + " together") +
      "\nset ylabel 'million calls per CPU second'\nset key inside left top vertical\n" +
      bars(r, "$threads", r.plan.columns.size());
  text +=
      "set origin 0,0\nset size 0.52,0.43\n"
      "set title " +
      quoted(std::string("Tail of ") + r.plan.chosen->name + ": single calls, timed in order") +
      "\n" + kTailAxes + curves(r) + "unset multiplot\n";
  return text;
}

}  // namespace vvarclock::bench
