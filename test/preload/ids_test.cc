// Guards against: an id or a pointer that is answered otherwise than the kernel answers it, and an
// errno that moves.
//
// clock_gettime and clock_getres for every id from -4096 to 4096 and the extremes of int: result,
// errno and value are the system call's. gettimeofday, time and clock_getres with null pointers.
// timespec_get for every base: libc's own answer.
#include <climits>

#include "test/support/clock_calls.h"

namespace vvarclock::process {
namespace {

constexpr int kUntouched = 12345;  // no errno has this value
constexpr timespec kPattern{0x5a5a5a5a, 0x5a5a5a5a};
constexpr clockid_t kFirstAuxiliary = 16;
constexpr clockid_t kLastAuxiliary = 23;
// A CPU-time clock of another process may vanish between two questions; that often the questions
// are asked again.
constexpr int kRounds = 100;

bool is_pattern(const timespec& time) {
  return time.tv_sec == kPattern.tv_sec && time.tv_nsec == kPattern.tv_nsec;
}

// What libc's convention makes of the kernel's result.
void expect_same_result(const char* function, clockid_t id, long kernel, int own, int own_errno) {
  expect(own == (kernel < 0 ? -1 : 0), "%s(%d) gave %d, the system call %ld", function, id, own,
         kernel);
  expect(own_errno == (kernel < 0 ? static_cast<int>(-kernel) : kUntouched),
         "%s(%d): errno %d, the system call gave %ld", function, id, own_errno, kernel);
}

void check_gettime(clockid_t id) {
  for (int round = 0; round < kRounds; ++round) {
    timespec before = kPattern;
    timespec own = kPattern;
    timespec after = kPattern;
    const long first = arch::raw_clock_gettime(id, &before);
    errno = kUntouched;
    const int result = ::clock_gettime(id, &own);
    const int own_errno = errno;
    const long second = arch::raw_clock_gettime(id, &after);
    if (first != second) {
      continue;
    }
    expect_same_result("clock_gettime", id, first, result, own_errno);
    if (first < 0) {
      expect(is_pattern(own), "clock_gettime(%d) failed and yet wrote", id);
    } else {
      expect(to_ns(before) <= to_ns(own) && to_ns(own) <= to_ns(after),
             "clock_gettime(%d): %lld is not between %lld and %lld", id,
             static_cast<long long>(to_ns(own)), static_cast<long long>(to_ns(before)),
             static_cast<long long>(to_ns(after)));
    }
    return;
  }
  fail("clock_gettime(%d): the system call changed its mind %d times", id, kRounds);
}

void check_getres(clockid_t id) {
  if (is_plain_libc() && id >= kFirstAuxiliary && id <= kLastAuxiliary) {
    return;  // the kernel's vDSO gives a resolution for auxiliary clocks that are switched off
  }
  for (int round = 0; round < kRounds; ++round) {
    timespec kernel = kPattern;
    timespec own = kPattern;
    const long first = arch::raw_clock_getres(id, &kernel);
    errno = kUntouched;
    const int result = ::clock_getres(id, &own);
    const int own_errno = errno;
    errno = kUntouched;
    const int null_result = ::clock_getres(id, nullptr);
    const int null_errno = errno;
    if (arch::raw_clock_getres(id, static_cast<timespec*>(nullptr)) != first) {
      continue;
    }
    expect_same_result("clock_getres", id, first, result, own_errno);
    expect_same_result("clock_getres with null", id, first, null_result, null_errno);
    expect(own.tv_sec == kernel.tv_sec && own.tv_nsec == kernel.tv_nsec,
           "clock_getres(%d): %ld s %ld ns, the system call %ld s %ld ns", id,
           static_cast<long>(own.tv_sec), own.tv_nsec, static_cast<long>(kernel.tv_sec),
           kernel.tv_nsec);
    return;
  }
  fail("clock_getres(%d): the system call changed its mind %d times", id, kRounds);
}

// A bad id is refused before the pointer is looked at; a good one of the kernel's own shows the
// pointer's fault.
void check_null_gettime() {
  for (const clockid_t id : {10, 100, -1, INT_MIN, INT_MAX, 2, 3}) {
    const long kernel = arch::raw_clock_gettime(id, static_cast<timespec*>(nullptr));
    errno = kUntouched;
    timespec* volatile null = nullptr;
    const int result = ::clock_gettime(id, null);
    expect_same_result("clock_gettime with null", id, kernel, result, errno);
  }
}

void check_gettimeofday() {
  // Null is allowed by the system call and the vDSO, though libc's declaration says otherwise.
  timeval* volatile no_time = nullptr;
  struct timezone kernel_zone {};
  expect(arch::raw_gettimeofday(nullptr, &kernel_zone) == 0,
         "system call gettimeofday(NULL, &tz) failed");

  errno = kUntouched;
  expect(::gettimeofday(no_time, nullptr) == 0, "gettimeofday(NULL, NULL) failed, errno %d", errno);
  struct timezone zone {
    0x5a5a, 0x5a5a
  };
  expect(::gettimeofday(no_time, &zone) == 0, "gettimeofday(NULL, &tz) failed, errno %d", errno);
  expect(std::memcmp(&zone, &kernel_zone, sizeof zone) == 0,
         "time zone %d/%d, the system call %d/%d", zone.tz_minuteswest, zone.tz_dsttime,
         kernel_zone.tz_minuteswest, kernel_zone.tz_dsttime);

  zone = {0x5a5a, 0x5a5a};
  timeval now{};
  const WallClockWatch watch;
  const std::int64_t before = kernel_time();
  errno = kUntouched;
  expect(::gettimeofday(&now, &zone) == 0, "gettimeofday(&tv, &tz) failed, errno %d", errno);
  expect(errno == kUntouched, "gettimeofday moved errno to %d", errno);
  expect(std::memcmp(&zone, &kernel_zone, sizeof zone) == 0,
         "gettimeofday(&tv, &tz): another time zone than alone");
  // time() counts coarse seconds, which lag by up to a tick.
  expect((before <= now.tv_sec && now.tv_sec <= kernel_time() + 1) || watch.was_set(),
         "gettimeofday(&tv, &tz): %ld s", now.tv_sec);
}

void check_errno_of_the_rest() {
  errno = kUntouched;
  ::time(nullptr);
  timespec now{};
  ::timespec_get(&now, TIME_UTC);
  for (const Call& call : kCalls) {
    call.own();
  }
  expect(errno == kUntouched, "time, timespec_get or a served clock moved errno to %d", errno);
}

// libc's newer releases know more bases, and a program must not see which of the two answers.
void check_timespec_get() {
  using TimespecGet = int(timespec*, int);
  auto* const libc = libc_function<TimespecGet>("timespec_get");
  expect(libc != nullptr, "libc has no timespec_get");
  for (int base = -2; base <= 20; ++base) {
    timespec before = kPattern;
    timespec own = kPattern;
    timespec after = kPattern;
    const WallClockWatch watch;
    errno = kUntouched;
    const int expected = libc(&before, base);
    const int libc_errno = errno;
    errno = kUntouched;
    const int result = ::timespec_get(&own, base);
    const int own_errno = errno;
    libc(&after, base);
    expect(result == expected, "timespec_get(base %d) gave %d, libc's own %d", base, result,
           expected);
    expect(own_errno == libc_errno, "timespec_get(base %d): errno %d, libc's own %d", base,
           own_errno, libc_errno);
    expect((to_ns(before) <= to_ns(own) && to_ns(own) <= to_ns(after)) || watch.was_set(),
           "timespec_get(base %d): %lld is not between %lld and %lld", base,
           static_cast<long long>(to_ns(own)), static_cast<long long>(to_ns(before)),
           static_cast<long long>(to_ns(after)));
  }
}

}  // namespace
}  // namespace vvarclock::process

int main() {
  using namespace vvarclock::process;
  begin();
  for (int id = -4096; id <= 4096; ++id) {
    check_gettime(id);
    check_getres(id);
  }
  for (const int id :
       {INT_MIN, INT_MIN + 1, INT_MIN + 2, INT_MIN + 4, INT_MIN + 7, INT_MAX, INT_MAX - 1,
        INT_MAX - 2, 1 << 16, (1 << 16) + 1, 1 << 30, (1 << 30) + 1, -(1 << 30)}) {
    check_gettime(id);
    check_getres(id);
  }
  check_null_gettime();
  check_gettimeofday();
  check_errno_of_the_rest();
  check_timespec_get();
  note("8193 ids and 13 extremes, null pointers, 23 bases: as the kernel and libc answer");
  return 0;
}
