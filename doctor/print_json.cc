// The examination for machines: the members of the library's own report, and more beside them.
#include <cstdio>

#include "doctor/examination.h"
#include "doctor/json.h"
#include "doctor/other_width.h"
#include "doctor/text.h"

namespace vvarclock::doctor {
namespace {

void words(Json& out, std::string_view key, const std::vector<std::string>& list) {
  out.key(key).open('[');
  for (const std::string& word : list) {
    out.string(word);
  }
  out.close(']');
}

void string_or_null(Json& out, std::string_view key, const std::string& value) {
  out.key(key);
  value.empty() ? out.null() : out.string(value);
}

void library(Json& out, const Examination& all) {
  out.key("library").open('{');
  string_or_null(out, "path", all.library.path);
  string_or_null(out, "answers_clock_gettime", all.library.answerer);
  out.key("active").boolean(all.library.first).key("observed").boolean(all.seen).close('}');
}

void machine(Json& out, const Examination& all) {
  out.key("kernel").string(all.kernel).key("machine").string(all.machine);
  out.key("clock_source").open('{');
  string_or_null(out, "current", all.source.current);
  words(out, "available", all.source.available);
  words(out, "boot_words", all.source.boot_words);
  out.close('}');
  out.key("cpu").open('{').key("rdtscp").boolean(all.has_rdtscp);
  out.key("invariant_tsc").boolean(all.has_invariant_tsc);
  string_or_null(out, "hypervisor", all.hypervisor);
  out.close('}');
}

void pages(Json& out, const std::vector<Page>& list) {
  out.key("pages").open('{');
  for (const Page& page : list) {
    out.key(page.name).open('{').key("from_vdso").number(page.from_vdso);
    out.key("readable").boolean(page.readable);
    for (const PageValue& value : page.values) {
      out.key(value.key).number(value.number);
    }
    out.close('}');
  }
  out.close('}');
}

// What was observed replaces what the report concludes.
void clocks(Json& out, const std::vector<Clock>& list) {
  out.key("clocks").open('{');
  for (const Clock& clock : list) {
    out.key(clock.name).open('{').key("served_by").string(clock.served_by);
    string_or_null(out, "reason", clock.reason);
    out.close('}');
  }
  out.close('}');
}

void raw_line(Json& out, const std::optional<serve::RawClockStatus>& line) {
  out.key("raw_line");
  if (!line) {
    out.null();
    return;
  }
  out.open('{').key("state").string(name(line->state));
  const bool serving = line->state == serve::RawState::kServing;
  const auto number = [&](const char* key, std::uint64_t value) {
    out.key(key);
    serving ? out.number(static_cast<std::int64_t>(value)) : out.null();
  };
  number("bound_ns", line->bound);
  number("mult", line->mult);
  number("shift", line->shift);
  out.key("ticks");
  serving && line->knows_kind ? out.string(line->rounds ? "rounded" : "exact") : out.null();
  out.key("samples").number(std::int64_t{line->samples});
  out.key("recheck_ns").number(static_cast<std::int64_t>(line->recheck));
  out.key("contradictions").number(std::int64_t{line->contradictions}).close('}');
}

void figure(Json& out, std::string_view key, const std::optional<Figure>& value) {
  out.key(key);
  if (!value) {
    out.null();
    return;
  }
  out.open('{').key("median").number(value->median).key("low").number(value->low);
  out.key("high").number(value->high).close('}');
}

void prices(Json& out, const Examination& all) {
  out.key("ns_per_call").open('{');
  for (const Price& price : all.prices) {
    out.key(price.name).open('{');
    figure(out, "vvarclock", price.ours);
    figure(out, "vdso", price.vdso);
    figure(out, "syscall", price.syscall);
    out.close('}');
  }
  out.close('}').key("ns_per_counter_read").open('{');
  for (const Figure& counter : all.counters) {
    figure(out, counter.name, counter);
  }
  out.close('}');
}

}  // namespace

void print_json(const Examination& all) {
  serve::ReportBuffer members;
  append_json_members(all.report(), members);
  Json out;
  out.open('{').raw(members.view());
  out.key("bits").number(std::int64_t{kBits});
  library(out, all);
  machine(out, all);
  pages(out, all.pages);
  if (all.wants_hex) {
    std::string bytes;
    for (const std::byte value : all.head) {
      bytes += hex_byte(value);
    }
    string_or_null(out, "data_page_hex", bytes);
  }
  clocks(out, all.clocks);
  raw_line(out, all.raw_line);
  prices(out, all);
  out.key("start_up_us").open('{');
  for (const Figure& step : all.start_up.steps) {
    figure(out, step.name, step);
  }
  out.close('}').key("start_up_page_faults").number(all.start_up.faults);
  words(out, "advice", all.advice);
  out.key("exit_status").number(std::int64_t{exit_status(all.clocks)}).close('}');
  std::printf("%s\n", out.text().c_str());
}

}  // namespace vvarclock::doctor
