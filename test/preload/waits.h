// Every way of waiting for a moment that the kernel and libc offer, in one table: wait until a
// deadline of a clock, or for a time that is counted from now.
//
// A wait says whether the time was up; a wake-up of any other kind (a signal, a spurious one) is
// none. Nothing here reads a clock. Depends on test/support/process.h.
#pragma once

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <array>
#include <cstdint>

#include "test/support/process.h"

namespace vvarclock::process {

enum class Deadline : std::uint8_t { kMoment, kSpan };

struct Wait {
  const char* name;
  clockid_t clock;  // which the deadline is of
  Deadline kind;
  std::int64_t unit;  // ns; spans and moments are whole multiples of it
  bool (*until)(const timespec& time);
};

namespace waits {

// Relative time-outs of the kernel that count milliseconds.
inline int milliseconds(const timespec& span) {
  return static_cast<int>(span.tv_sec * 1000 + span.tv_nsec / 1'000'000);
}

inline bool poll_nothing(const timespec& span) { return poll(nullptr, 0, milliseconds(span)) == 0; }
inline bool ppoll_nothing(const timespec& span) { return ppoll(nullptr, 0, &span, nullptr) == 0; }
inline bool select_nothing(const timespec& span) {
  timeval left{span.tv_sec, span.tv_nsec / 1000};
  return select(0, nullptr, nullptr, nullptr, &left) == 0;
}
inline bool epoll_nothing(const timespec& span) {
  const int set = epoll_create1(EPOLL_CLOEXEC);
  expect(set >= 0, "epoll_create1: %s", std::strerror(errno));
  epoll_event event{};
  const int ready = epoll_wait(set, &event, 1, milliseconds(span));
  close(set);
  return ready == 0;
}
inline bool nanosleep_span(const timespec& span) { return nanosleep(&span, nullptr) == 0; }

template <int Operation>
bool futex(const timespec& time) {
  std::uint32_t word = 7;
  const long result = syscall(SYS_futex, &word, Operation | FUTEX_PRIVATE_FLAG, word, &time,
                              nullptr, FUTEX_BITSET_MATCH_ANY);
  return result < 0 && errno == ETIMEDOUT;
}

template <clockid_t Id>
bool clock_nanosleep_until(const timespec& moment) {
  return clock_nanosleep(Id, TIMER_ABSTIME, &moment, nullptr) == 0;
}

template <clockid_t Id>
bool timerfd_until(const timespec& moment) {
  const int timer = timerfd_create(Id, TFD_CLOEXEC);
  itimerspec once{};
  once.it_value = moment;
  expect(timer >= 0 && timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, nullptr) == 0,
         "timerfd: %s", std::strerror(errno));
  std::uint64_t expirations = 0;
  const bool up = read(timer, &expirations, sizeof expirations) == sizeof expirations;
  close(timer);
  return up;
}

// The same, seen by epoll_wait without a time-out of its own.
template <clockid_t Id>
bool epoll_timerfd_until(const timespec& moment) {
  const int timer = timerfd_create(Id, TFD_CLOEXEC | TFD_NONBLOCK);
  const int set = epoll_create1(EPOLL_CLOEXEC);
  itimerspec once{};
  once.it_value = moment;
  epoll_event event{};
  event.events = EPOLLIN;
  expect(timer >= 0 && set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, timer, &event) == 0 &&
             timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, nullptr) == 0,
         "timerfd and epoll: %s", std::strerror(errno));
  const bool up = epoll_wait(set, &event, 1, -1) == 1;
  close(set);
  close(timer);
  return up;
}

template <clockid_t Id>
bool condition_until(const timespec& moment) {
  pthread_condattr_t attributes;
  pthread_cond_t condition;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_condattr_init(&attributes);
  expect(pthread_condattr_setclock(&attributes, Id) == 0, "pthread_condattr_setclock(%d)", Id);
  pthread_cond_init(&condition, &attributes);
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_timedwait(&condition, &mutex, &moment);
  pthread_mutex_unlock(&mutex);
  pthread_cond_destroy(&condition);
  return result == ETIMEDOUT;
}

inline bool semaphore_until(const timespec& moment) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const bool up = sem_timedwait(&semaphore, &moment) < 0 && errno == ETIMEDOUT;
  sem_destroy(&semaphore);
  return up;
}

inline bool mutex_until(const timespec& moment) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const int result = pthread_mutex_timedlock(&mutex, &moment);
  pthread_mutex_unlock(&mutex);
  return result == ETIMEDOUT;
}

}  // namespace waits

// Spans come first: they show what moments would hide, a clock that goes at another rate.
inline constexpr std::array<Wait, 22> kWaits{{
    {"nanosleep", CLOCK_MONOTONIC, Deadline::kSpan, 1, waits::nanosleep_span},
    {"poll", CLOCK_MONOTONIC, Deadline::kSpan, 1'000'000, waits::poll_nothing},
    {"ppoll", CLOCK_MONOTONIC, Deadline::kSpan, 1, waits::ppoll_nothing},
    {"select", CLOCK_MONOTONIC, Deadline::kSpan, 1'000, waits::select_nothing},
    {"epoll_wait", CLOCK_MONOTONIC, Deadline::kSpan, 1'000'000, waits::epoll_nothing},
    {"futex, a span", CLOCK_MONOTONIC, Deadline::kSpan, 1, waits::futex<FUTEX_WAIT>},
    {"clock_nanosleep REALTIME", CLOCK_REALTIME, Deadline::kMoment, 1,
     waits::clock_nanosleep_until<CLOCK_REALTIME>},
    {"clock_nanosleep MONOTONIC", CLOCK_MONOTONIC, Deadline::kMoment, 1,
     waits::clock_nanosleep_until<CLOCK_MONOTONIC>},
    {"clock_nanosleep BOOTTIME", CLOCK_BOOTTIME, Deadline::kMoment, 1,
     waits::clock_nanosleep_until<CLOCK_BOOTTIME>},
    {"clock_nanosleep TAI", CLOCK_TAI, Deadline::kMoment, 1,
     waits::clock_nanosleep_until<CLOCK_TAI>},
    {"timerfd REALTIME", CLOCK_REALTIME, Deadline::kMoment, 1,
     waits::timerfd_until<CLOCK_REALTIME>},
    {"timerfd MONOTONIC", CLOCK_MONOTONIC, Deadline::kMoment, 1,
     waits::timerfd_until<CLOCK_MONOTONIC>},
    {"timerfd BOOTTIME", CLOCK_BOOTTIME, Deadline::kMoment, 1,
     waits::timerfd_until<CLOCK_BOOTTIME>},
    {"epoll of a timerfd REALTIME", CLOCK_REALTIME, Deadline::kMoment, 1,
     waits::epoll_timerfd_until<CLOCK_REALTIME>},
    {"epoll of a timerfd MONOTONIC", CLOCK_MONOTONIC, Deadline::kMoment, 1,
     waits::epoll_timerfd_until<CLOCK_MONOTONIC>},
    {"futex REALTIME", CLOCK_REALTIME, Deadline::kMoment, 1,
     waits::futex<FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME>},
    {"futex MONOTONIC", CLOCK_MONOTONIC, Deadline::kMoment, 1, waits::futex<FUTEX_WAIT_BITSET>},
    {"condition REALTIME", CLOCK_REALTIME, Deadline::kMoment, 1,
     waits::condition_until<CLOCK_REALTIME>},
    {"condition MONOTONIC", CLOCK_MONOTONIC, Deadline::kMoment, 1,
     waits::condition_until<CLOCK_MONOTONIC>},
    {"sem_timedwait", CLOCK_REALTIME, Deadline::kMoment, 1, waits::semaphore_until},
    {"pthread_mutex_timedlock", CLOCK_REALTIME, Deadline::kMoment, 1, waits::mutex_until},
    {"clock_nanosleep MONOTONIC of microseconds", CLOCK_MONOTONIC, Deadline::kMoment, 1'000,
     waits::clock_nanosleep_until<CLOCK_MONOTONIC>},
}};

}  // namespace vvarclock::process
