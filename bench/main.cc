// vvarclock-bench: the program behind `vvarclock --bench`.
//
// It runs without the preloaded library: libc's column is then what a program has that does not use
// vvarclock. Ours are copies of the library in the same process, one for each order. Every figure
// comes from several fresh processes of this program. Exit status: see kUsage.
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "bench/options.h"
#include "bench/passes.h"
#include "bench/plot.h"
#include "bench/results.h"
#include "core/discover/kernel.h"
#include "core/serve/message.h"

namespace vvarclock::bench {
namespace {

constexpr int kNotMeasured = 1;
constexpr int kWrongUsage = 125;

int give_up(const std::string& why) {
  serve::say("bench: " + why);
  return kNotMeasured;
}

int work(const Plan& plan, const std::vector<Way>& ways) {
  return send(measure_pass(plan, ways), STDOUT_FILENO) ? 0 : kNotMeasured;
}

bool write_file(FILE* file, const std::string& text) {
  const bool written = ::fwrite(text.data(), 1, text.size(), file) == text.size();
  return ::fclose(file) == 0 && written;
}

void show_progress(std::uint32_t done, std::uint32_t all) {
  if (::isatty(STDERR_FILENO) != 0) {
    serve::write_all(STDERR_FILENO, done == all
                                        ? "\r                              \r"
                                        : "\rmeasuring: process " + std::to_string(done + 1) +
                                              " of " + std::to_string(all));
  }
}

std::int64_t seconds_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

int report(const Options& options, const Results& results, FILE* json) {
  serve::write_all(STDOUT_FILENO, as_text(results));
  if (json != nullptr && !write_file(json, as_json(results))) {
    return give_up("cannot write " + options.json);
  }
  if (!options.plot.empty() && !run_gnuplot(gnuplot_program(results, options.plot))) {
    return give_up("gnuplot did not draw " + options.plot);
  }
  return 0;
}

int lead(const Options& options, const Plan& plan, const std::vector<Way>& ways,
         std::span<char* const> words) {
  // What can fail without measuring fails before it.
  if (!options.plot.empty() && !has_gnuplot()) {
    return give_up(
        "--plot needs gnuplot, which is not installed (Debian: apt-get install gnuplot-nox)");
  }
  FILE* const json = options.json.empty() ? nullptr : ::fopen(options.json.c_str(), "we");
  if (!options.json.empty() && json == nullptr) {
    return give_up("cannot write " + options.json + ": " + std::strerror(errno));
  }
  std::vector<Pass> passes;
  const std::int64_t end = seconds_now() + plan.effort.seconds;
  for (std::uint32_t i = 0; i < plan.effort.processes && (i < 3 || seconds_now() < end); ++i) {
    show_progress(i, plan.effort.processes);
    std::optional<Pass> pass = pass_of_fresh_process(plan, words);
    if (!pass) {
      return give_up("a measuring process did not finish");
    }
    passes.push_back(std::move(*pass));
  }
  show_progress(plan.effort.processes, plan.effort.processes);
  const Machine machine = look_at_machine(ways[ordered_column(plan.columns)]);
  return report(options, combine(plan, machine, passes), json);
}

int run(std::span<char* const> words) {
  Options options;
  if (const std::string wrong = parse_options(words.subspan(1), options); !wrong.empty()) {
    serve::say("bench: " + wrong);
    serve::write_all(STDERR_FILENO, kUsage);
    return kWrongUsage;
  }
  if (options.help) {
    serve::write_all(STDOUT_FILENO, kUsage);
    return 0;
  }
  if (options.library.empty()) {
    serve::say("bench: start me by vvarclock --bench, which names the library");
    return kWrongUsage;
  }
  if (!discover::counter_allowed()) {
    return give_up("this process may not read the counter (prctl PR_SET_TSC)");
  }
  const Plan plan = make_plan(options);
  std::string error;
  const std::vector<Way> ways = load_ways(plan.columns, options.library, error);
  if (!error.empty()) {
    return give_up(error);
  }
  return options.worker ? work(plan, ways) : lead(options, plan, ways, words);
}

}  // namespace
}  // namespace vvarclock::bench

int main(int count, char** words) {
  return vvarclock::bench::run({words, static_cast<std::size_t>(count)});
}
