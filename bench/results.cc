#include "bench/results.h"

#include <algorithm>

namespace vvarclock::bench {
namespace {

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Less than this cannot be told from nothing, so no ratio is made of it.
constexpr double kSmallestNs = 1;

class Combiner {
 public:
  Combiner(const Plan& plan, const std::vector<Pass>& passes) : plan_(plan), passes_(passes) {}

  [[nodiscard]] Cell cell(const Subject& subject) const {
    const std::vector<double> own = gather(subject, true);
    Cell cell;
    cell.ns = summarise(own);
    cell.tsc_cycles = summarise(gather(subject, false)).median;
    const bool inside_work = subject.shape != Shape::kBackToBack;
    if (!inside_work) {
      cell.unstable = is_unstable(cell.ns);
    } else {
      // Near zero a relative error says nothing: the whole turn is judged.
      const Summary work = summarise(gather({subject.shape, plan_.bare.front(), kNoColumn}, true));
      cell.unstable = cell.ns.deviation >= 0.05 * (work.median + cell.ns.median);
    }
    if (subject.column != kNoColumn && subject.column != kLibc) {
      const std::vector<double> libc = gather({subject.shape, subject.call, kLibc}, true);
      if (std::min(summarise(libc).median, cell.ns.median) >= (inside_work ? kSmallestNs : 0)) {
        cell.times = summarise(ratios(libc, own));
      }
    }
    return cell;
  }

 private:
  // Inside work: without the work, but for the work's own subject.
  [[nodiscard]] std::vector<double> gather(const Subject& subject, bool in_ns) const {
    const std::size_t at = plan_.find(subject.shape, subject.call, subject.column);
    const std::size_t alone = plan_.alone(subject.shape);
    const bool subtracts = subject.shape != Shape::kBackToBack && at != alone;
    std::vector<double> all;
    for (const Pass& pass : passes_) {
      append(all,
             scaled(subtracts ? differences(pass.cycles[at], pass.cycles[alone]) : pass.cycles[at],
                    in_ns ? 1e9 / pass.tsc_hz : 1));
    }
    return all;
  }

  const Plan& plan_;
  const std::vector<Pass>& passes_;
};

}  // namespace

const Cell* Results::cell(Shape shape, const Call* call, std::size_t column) const {
  const std::size_t at = plan.find(shape, call, column);
  return at == cells.size() ? nullptr : &cells[at];
}

Results combine(const Plan& plan, const Machine& machine, const std::vector<Pass>& passes) {
  Results results{machine, plan, 0, {}, {}, {}};
  results.plan.effort.processes = static_cast<std::uint32_t>(passes.size());
  const Combiner combiner(plan, passes);
  for (const Subject& subject : plan.subjects) {
    results.cells.push_back(combiner.cell(subject));
  }
  std::vector<double> rates;
  results.tails.resize(plan.columns.size() + 1);
  std::vector<std::vector<double>> throughput(plan.threads.size() * plan.columns.size());
  for (const Pass& pass : passes) {
    rates.push_back(pass.tsc_hz);
    for (std::size_t i = 0; i < results.tails.size(); ++i) {
      results.tails[i].add(pass.tails[i]);
    }
    for (std::size_t i = 0; i < throughput.size(); ++i) {
      append(throughput[i], pass.throughput[i]);
    }
  }
  results.tsc_hz = summarise(rates).median;
  for (std::vector<double>& each : throughput) {
    results.throughput.push_back(summarise(std::move(each)));
  }
  return results;
}

std::vector<std::string> warnings(const Results& results) {
  std::vector<std::string> all;
  const auto unstable =
      std::count_if(results.cells.begin(), results.cells.end(),
                    [](const Cell& cell) { return cell.unstable; }) +
      std::count_if(results.throughput.begin(), results.throughput.end(), is_unstable);
  if (unstable != 0) {
    all.push_back(
        std::to_string(unstable) + " of " +
        std::to_string(results.cells.size() + results.throughput.size()) +
        " figures are unstable (!, an error of 5 % or more): close other programs and run "
        "it again; on a laptop, plug it in.");
  }
  if (!results.machine.has_invariant_tsc) {
    all.emplace_back(
        "This CPU does not promise a counter of constant rate: the nanoseconds are as good as "
        "that rate.");
  }
  if (results.machine.clock_mode.empty()) {
    all.emplace_back(
        "No layout of the kernel's time page is believed here: ours are system calls, see "
        "vvarclock --doctor.");
  }
  return all;
}

}  // namespace vvarclock::bench
