// Every figure as JSON.
#include "doctor/json.h"
#include "bench/results.h"
#include "core/serve/version.h"

namespace vvarclock::bench {
namespace {

class Writer {
 public:
  explicit Writer(const Results& results) : r_(results) {}

  std::string text() {
    json_.open('{').key("version").string(serve::kVersion);
    machine();
    effort();
    bare();
    calls();
    tails();
    threads();
    json_.key("warnings").open('[');
    for (const std::string& warning : warnings(r_)) {
      json_.string(warning);
    }
    json_.close(']').close('}');
    return json_.text() + '\n';
  }

 private:
  void text_or_null(const char* key, const std::string& text) {
    json_.key(key);
    text.empty() ? json_.null() : json_.string(text);
  }

  void machine() {
    const Machine& m = r_.machine;
    json_.key("machine").open('{').key("kernel").string(m.kernel).key("cpu").string(m.cpu);
    text_or_null("hypervisor", m.hypervisor);
    json_.key("cpus").number(static_cast<std::int64_t>(m.cpus)).key("libc").string(m.libc);
    text_or_null("clock_source", m.clock_source);
    text_or_null("clock_mode", m.clock_mode);
    text_or_null("layout", m.layout);
    json_.key("tsc_hz").number(static_cast<std::int64_t>(r_.tsc_hz));
    json_.key("invariant_tsc").boolean(m.has_invariant_tsc);
    json_.key("rdtscp").boolean(m.has_rdtscp).key("ordered_is").string(m.ordered);
    json_.key("by_syscall").open('[');
    for (const std::string& name : m.by_syscall) {
      json_.string(name);
    }
    json_.close(']').close('}');
  }

  void effort() {
    const Effort& e = r_.plan.effort;
    json_.key("effort").open('{').key("processes").number(std::int64_t{e.processes});
    json_.key("rounds").number(std::int64_t{e.rounds});
    json_.key("batch_ns").number(std::int64_t{e.batch_ns}).close('}');
  }

  void cell(const Cell& cell) {
    json_.open('{').key("ns").number(cell.ns.median).key("low").number(cell.ns.low);
    json_.key("high").number(cell.ns.high).key("deviation").number(cell.ns.deviation);
    json_.key("error_percent").number(100 * cell.ns.error);
    json_.key("samples").number(static_cast<std::int64_t>(cell.ns.count));
    json_.key("tsc_cycles").number(cell.tsc_cycles);
    if (cell.times.count != 0) {
      json_.key("times_as_fast_as_libc").open('{').key("median").number(cell.times.median);
      json_.key("low").number(cell.times.low).key("high").number(cell.times.high).close('}');
    }
    json_.key("unstable").boolean(cell.unstable).close('}');
  }

  void bare() {
    json_.key("bare").open('{');
    for (const Call* const each : r_.plan.bare) {
      json_.key(each->name).open('{');
      for (const Shape shape : kShapes) {
        json_.key(key(shape));
        cell(*r_.cell(shape, each, kNoColumn));
      }
      json_.close('}');
    }
    json_.close('}');
  }

  void calls() {
    json_.key("calls").open('{');
    for (const Call* const call : r_.plan.calls) {
      json_.key(call->name).open('{');
      for (const Shape shape : kShapes) {
        json_.key(key(shape)).open('{');
        for (std::size_t column = 0; column < r_.plan.columns.size(); ++column) {
          if (const Cell* const found = r_.cell(shape, call, column)) {
            json_.key(r_.plan.columns[column].key);
            cell(*found);
          }
        }
        json_.close('}');
      }
      json_.close('}');
    }
    json_.close('}');
  }

  void tails() {
    json_.key("tail").open('{').key("call").string(r_.plan.chosen->name).key("ns").open('{');
    for (std::size_t i = 0; i < r_.tails.size(); ++i) {
      const Histogram& tail = r_.tails[i];
      json_.key(i < r_.plan.columns.size() ? r_.plan.columns[i].key : "counter reads alone");
      json_.open('{').key("p50").number(r_.ns(tail.quantile(0.5)));
      json_.key("p99").number(r_.ns(tail.quantile(0.99)));
      json_.key("p99.9").number(r_.ns(tail.quantile(0.999)));
      json_.key("max").number(r_.ns(tail.maximum()));
      json_.key("calls").number(static_cast<std::int64_t>(tail.count())).close('}');
    }
    json_.close('}').close('}');
  }

  void threads() {
    json_.key("threads").open('{').key("call").string(r_.plan.chosen->name);
    json_.key("calls_per_second").open('{');
    for (std::size_t column = 0; column < r_.plan.columns.size(); ++column) {
      json_.key(r_.plan.columns[column].key).open('{');
      for (std::size_t i = 0; i < r_.plan.threads.size(); ++i) {
        const Summary& sum = r_.throughput[throughput_index(r_.plan, i, column)];
        json_.key(std::to_string(r_.plan.threads[i])).open('{').key("median").number(sum.median);
        json_.key("low").number(sum.low).key("high").number(sum.high);
        json_.key("error_percent").number(100 * sum.error);
        json_.key("unstable").boolean(is_unstable(sum)).close('}');
      }
      json_.close('}');
    }
    json_.close('}').close('}');
  }

  const Results& r_;
  doctor::Json json_;
};

}  // namespace

std::string as_json(const Results& results) { return Writer(results).text(); }

}  // namespace vvarclock::bench
