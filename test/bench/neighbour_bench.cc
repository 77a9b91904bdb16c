// Does it cost a call anything when another thread writes right beside the data that every call
// reads? And do two threads call twice as often as one?
//
// The neighbour's stores go to the line before the dispatch table's page, to the object behind it
// as the linker placed it, and, as a control, into the table's own first line: that must show the
// loss which the others must not. Every store adds nothing to what is there, so it is a write to
// the machine and none to the library. The pages are made writable for it: they are read-only in a
// program, which is why it is in a benchmark only.
//
// Usage: neighbour_bench TABLE BEHIND NAME [rounds]: two addresses in the library file, and what is
// at the second. neighbour_bench.sh finds them. Needs two CPUs.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "core/serve/dispatch.h"
#include "doctor/calls.h"
#include "doctor/measure.h"
#include "doctor/prices.h"
#include "test/support/process.h"

namespace vvarclock::bench {
namespace {

using doctor::Figure;
using Word = std::atomic<std::uint64_t>;

constexpr std::size_t kPage = 4096;

struct Line {
  alignas(128) Word word{0};
};

// Both threads call from here: two copies of a loop can differ in speed.
[[gnu::noinline]] void make_calls(void (*call)(), std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    call();
  }
}

// Another thread, told what to do. What it is told lies apart from what it writes.
class Neighbour {
 public:
  enum class Task : std::uint8_t { kWait, kWrite, kCall, kEnd };

  explicit Neighbour(int cpu)
      : thread_([this, cpu] {
          process::pin(cpu);
          work();
        }) {}
  ~Neighbour() {
    tell({.task = Task::kEnd});
    thread_.join();
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  struct Order {
    Task task = Task::kWait;
    Word* target = nullptr;
    void (*call)() = nullptr;
  };

  // Returns when the neighbour is at it.
  void tell(const Order& order) {
    order_ = order;
    const std::uint64_t told = told_.word.fetch_add(1, std::memory_order_release) + 1;
    while (heard_.word.load(std::memory_order_acquire) != told) {
      __builtin_ia32_pause();
    }
  }
  void wait_for(std::uint64_t calls) const {
    while (this->calls() < calls) {
      __builtin_ia32_pause();
    }
  }
  [[nodiscard]] std::uint64_t calls() const { return calls_.word.load(std::memory_order_relaxed); }

 private:
  void work() {
    std::uint64_t heard = 0;
    Order order;
    while (order.task != Task::kEnd) {
      if (const std::uint64_t told = told_.word.load(std::memory_order_acquire); told != heard) {
        heard = told;
        order = order_;  // nobody changes it before we have heard
        heard_.word.store(heard, std::memory_order_release);
      }
      do_some(order);
    }
  }

  void do_some(const Order& order) {
    constexpr std::uint64_t kSome = 512;
    if (order.task == Task::kWait) {
      __builtin_ia32_pause();
    } else if (order.task == Task::kWrite) {
      const std::uint64_t nothing = nothing_.word.load(std::memory_order_relaxed);
      for (std::uint64_t i = 0; i < kSome; ++i) {
        order.target->fetch_add(nothing, std::memory_order_relaxed);
      }
    } else if (order.task == Task::kCall) {
      make_calls(order.call, kSome);
      calls_.word.store(calls() + kSome, std::memory_order_relaxed);
    }
  }

  Line told_;
  Line heard_;
  Line nothing_;  // not a constant, or the addition might be left out
  Line calls_;
  alignas(128) Order order_;
  std::thread thread_;
};

template <clockid_t Id>
void read_clock() {
  timespec now{};
  ::clock_gettime(Id, &now);
}

void read_seconds() { ::time(nullptr); }

struct Row {
  const char* name;
  void (*call)();
  std::size_t beside;  // a word of the table, of the line that the call reads, which it does not
};

constexpr std::size_t kBesideBinding = offsetof(serve::Dispatch, calls.own.time);
constexpr std::size_t kBesideSeq = offsetof(serve::Dispatch, calls.own.clock_getres);
static_assert(kBesideBinding / 64 == offsetof(serve::Dispatch, binding) / 64 &&
              kBesideBinding / 64 == offsetof(serve::Dispatch, calls.own.clock_gettime) / 64 &&
              kBesideSeq / 64 == offsetof(serve::Dispatch, seq) / 64);

constexpr std::array<Row, 4> kRows{
    {{"CLOCK_MONOTONIC", read_clock<CLOCK_MONOTONIC>, kBesideBinding},
     {"CLOCK_REALTIME", read_clock<CLOCK_REALTIME>, kBesideBinding},
     {"CLOCK_MONOTONIC_COARSE", read_clock<CLOCK_MONOTONIC_COARSE>, kBesideBinding},
     {"time", read_seconds, kBesideSeq}}};

// The library's memory in this process.
class Places {
 public:
  Places(const char* table, const char* behind) {
    Dl_info library{};
    process::expect(dladdr(reinterpret_cast<const void*>(&::clock_gettime), &library) != 0,
                    "the library's base is unknown");
    base_ = static_cast<char*>(library.dli_fbase);
    table_ = base_ + std::strtoul(table, nullptr, 16);
    behind_ = base_ + std::strtoul(behind, nullptr, 16);
    process::expect(mprotect(table_ - kPage, 2 * kPage, PROT_READ | PROT_WRITE) == 0,
                    "mprotect: %s", std::strerror(errno));
  }
  [[nodiscard]] Word* before() const { return word(table_ - sizeof(Word)); }
  [[nodiscard]] Word* behind() const { return word(behind_); }
  [[nodiscard]] Word* inside(std::size_t offset) const { return word(table_ + offset); }
  [[nodiscard]] std::ptrdiff_t distance() const { return behind_ - table_; }

 private:
  static Word* word(char* at) { return reinterpret_cast<Word*>(at); }
  char* base_;
  char* table_;
  char* behind_;
};

constexpr std::array<const char*, 7> kColumns{
    "nobody",    "writes elsewhere", "writes before", "writes behind", "control: same line",
    "calls too", "calls alone"};

constexpr std::size_t kTogether = 5;
constexpr std::size_t kAlone = 6;  // of the neighbour, while this thread waits

std::array<Neighbour::Order, kColumns.size()> orders_for(const Row& row, const Places& places,
                                                         Word* elsewhere) {
  using Task = Neighbour::Task;
  return {{{},
           {.task = Task::kWrite, .target = elsewhere},
           {.task = Task::kWrite, .target = places.before()},
           {.task = Task::kWrite, .target = places.behind()},
           {.task = Task::kWrite, .target = places.inside(row.beside)},
           {.task = Task::kCall, .call = row.call},
           {.task = Task::kCall, .call = row.call}}};
}

void print_row(const Row& row, const Figure* figures) {
  std::printf("%-24s", row.name);
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const Figure& figure = figures[i];
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.2f (%.2f-%.2f)%c x%.3f", figure.median, figure.low,
                  figure.high, is_unsteady(figure) ? '!' : ' ', figure.median / figures[1].median);
    std::printf("%30s", text.data());
  }
  std::printf("\n");
}

// CPUs differ in speed, so two threads are held against each of them alone.
void print_throughput(const Row& row, const Figure* figures, double share) {
  const double first = 1000 / figures[0].median;
  const double second = 1000 / figures[kAlone].median;
  const double both = 1000 / figures[kTogether].median * (1 + share);
  std::printf("%-24s%8.1f%8.1f%8.1f  x%.3f\n", row.name, first, second, both,
              both / (first + second));
}

// Counted as one by measure(), so that a batch is long beside the handshake that opens it, whatever
// else the machine did while measure() found the batch's length.
constexpr std::uint64_t kBlock = 2000;

using Shares =
    std::array<std::vector<double>, kRows.size()>;  // the neighbour's calls to one of ours

std::vector<doctor::Subject> subjects_with(Neighbour& neighbour, const Places& places,
                                           Word* elsewhere, Shares& shares) {
  std::vector<doctor::Subject> subjects;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const auto orders = orders_for(kRows[i], places, elsewhere);
    for (std::size_t column = 0; column < orders.size(); ++column) {
      subjects.push_back({kRows[i].name, [&, i, column, order = orders[column]](auto blocks) {
                            const std::uint64_t calls = blocks * kBlock;
                            neighbour.tell(order);
                            const std::uint64_t before = neighbour.calls();
                            if (column == kAlone) {
                              neighbour.wait_for(before + calls);
                              return;
                            }
                            make_calls(kRows[i].call, calls);
                            if (column == kTogether) {
                              shares[i].push_back(static_cast<double>(neighbour.calls() - before) /
                                                  static_cast<double>(calls));
                            }
                          }});
    }
  }
  return subjects;
}

void print_figures(const std::vector<Figure>& figures, const Shares& shares) {
  std::printf("%-24s", "the neighbour:");
  for (const char* column : kColumns) {
    std::printf("%30s", column);
  }
  std::printf("\n");
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    print_row(kRows[i], &figures[i * kColumns.size()]);
  }
  std::printf("\nMillion calls per second: one thread, the other, both at once, part of the sum\n");
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    print_throughput(kRows[i], &figures[i * kColumns.size()],
                     doctor::summarise("", shares[i]).median);
  }
}

int run(const Places& places, const char* behind, std::uint32_t rounds) {
  const std::vector<int> cpus = process::allowed_cpus();
  if (cpus.size() < 2) {
    process::skip("a neighbour needs a second CPU");
  }
  process::pin(cpus[0]);
  Line elsewhere;
  Neighbour neighbour(cpus[1]);
  Shares shares;
  const auto now = doctor::measuring_clock(doctor::program_way(), true);
  std::vector<Figure> figures =
      measure(subjects_with(neighbour, places, &elsewhere.word, shares), {rounds, 500'000, now});
  for (Figure& figure : figures) {
    figure.median /= kBlock;
    figure.low /= kBlock;
    figure.high /= kBlock;
  }
  std::printf(
      "ns per call of one thread: median (middle half) and times as dear as beside a neighbour who "
      "writes elsewhere;\n%u rounds; behind the table's page: %s, %td bytes from the table\n\n",
      rounds, behind, places.distance());
  print_figures(figures, shares);
  return 0;
}

}  // namespace
}  // namespace vvarclock::bench

int main(int count, char** arguments) {
  using namespace vvarclock;
  const int rounds = count > 4 ? std::atoi(arguments[4]) : 101;
  if (count < 4 || rounds < 1) {
    std::fprintf(stderr, "Usage: neighbour_bench TABLE BEHIND NAME [rounds]\n");
    return 64;
  }
  process::require_library();
  return bench::run(bench::Places(arguments[1], arguments[2]), arguments[3],
                    static_cast<std::uint32_t>(rounds));
}
