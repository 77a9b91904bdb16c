/* Two builds of the library in one process, their calls taking turns batch by batch, so that a slow moment of the machine falls
 * on both. Prints one line per call: name, ns with A, ns with B (medians of the batches), median of B/A over the pairs.
 *
 * Usage: ab_cost A.so B.so ROUNDS WORK [first]     WORK: none, loads, arithmetic, what stands between two calls; the figures
 * are then what a call adds to it. With "first", B is loaded before A. The order is the environment's (VVARCLOCK_ORDER).
 * Built by plain cc.
 *
 * The libraries are opened, not preloaded: a call costs one indirect jump, as through the loader's table. The measuring clock is
 * libc's, whose cost falls on a batch once. Does not promise figures free of where the loader happened to put things: that
 * needs several processes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { kBatchNs = 20000, kMostRounds = 4096, kChain = 1024, kLoads = 8, kSteps = 16, kLanes = 4 };

typedef struct {
  int (*clock_gettime)(clockid_t, struct timespec*);
  int (*gettimeofday)(struct timeval*, void*);
  time_t (*time)(time_t*);
  int (*timespec_get)(struct timespec*, int);
  int (*clock_getres)(clockid_t, struct timespec*);
} Library;

typedef enum { kGettime, kTimeofday, kTime, kTimespecGet, kGetres } Form;
typedef enum { kNone, kDependentLoads, kArithmetic } Work;

typedef struct {
  const char* name;
  Form form;
  clockid_t id;
} Call;

static const Call kCalls[] = {
    {"CLOCK_MONOTONIC", kGettime, CLOCK_MONOTONIC},
    {"CLOCK_REALTIME", kGettime, CLOCK_REALTIME},
    {"CLOCK_MONOTONIC_RAW", kGettime, CLOCK_MONOTONIC_RAW},
    {"CLOCK_BOOTTIME", kGettime, CLOCK_BOOTTIME},
    {"CLOCK_TAI", kGettime, CLOCK_TAI},
    {"CLOCK_REALTIME_COARSE", kGettime, CLOCK_REALTIME_COARSE},
    {"CLOCK_MONOTONIC_COARSE", kGettime, CLOCK_MONOTONIC_COARSE},
    {"CLOCK_PROCESS_CPUTIME_ID", kGettime, CLOCK_PROCESS_CPUTIME_ID},
    {"gettimeofday", kTimeofday, 0},
    {"time", kTime, 0},
    {"timespec_get", kTimespecGet, TIME_UTC},
    {"clock_getres", kGetres, CLOCK_MONOTONIC},
};
enum { kCallCount = sizeof kCalls / sizeof kCalls[0] };

static size_t chain[kChain]; /* each element is the index of the next: loads that wait for each other */

static void fill_chain(void) {
  for (size_t i = 0; i < kChain; ++i) {
    chain[i] = (i + 389) % kChain; /* 389 is odd: one cycle through all */
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The lanes wait for nothing but themselves: they keep the multiplier busy. The empty asm keeps the work from being left out. */
ALWAYS_INLINE void work_once(Work work, uint64_t state[kLanes]) {
  if (work == kDependentLoads) {
    for (int i = 0; i < kLoads; ++i) {
      state[0] = chain[state[0] % kChain];
    }
    __asm__ volatile("" : "+r"(state[0]));
  } else if (work == kArithmetic) {
    for (int i = 0; i < kSteps * kLanes; ++i) {
      state[i % kLanes] = state[i % kLanes] * 6364136223846793005U + 1442695040888963407U;
    }
    __asm__ volatile("" : "+r"(state[0]), "+r"(state[1]), "+r"(state[2]), "+r"(state[3]));
  }
}

/* One batch, in ns per turn. f is null for the work alone. Form and work are constants wherever this is expanded, so that the
 * loop holds the call and nothing else. */
ALWAYS_INLINE double batch_of(const Library* f, clockid_t id, Form form, Work work, unsigned turns) {
  struct timespec t = {0, 0};
  struct timeval v = {0, 0};
  uint64_t state[kLanes] = {1, 2, 3, 4};
  const double begin = now();
  for (unsigned i = 0; i < turns; ++i) {
    work_once(work, state);
    if (f == NULL) {
      continue;
    }
    switch (form) {
      case kGettime: f->clock_gettime(id, &t); break;
      case kTimeofday: f->gettimeofday(&v, NULL); break;
      case kTime: f->time(NULL); break;
      case kTimespecGet: f->timespec_get(&t, TIME_UTC); break;
      case kGetres: f->clock_getres(id, &t); break;
    }
  }
  return (now() - begin) / turns;
}

ALWAYS_INLINE double batch_between(const Library* f, const Call* call, Work work, unsigned turns) {
  if (f == NULL) {
    return batch_of(NULL, 0, kTime, work, turns);
  }
  switch (call->form) {
    case kGettime: return batch_of(f, call->id, kGettime, work, turns);
    case kTimeofday: return batch_of(f, call->id, kTimeofday, work, turns);
    case kTime: return batch_of(f, call->id, kTime, work, turns);
    case kTimespecGet: return batch_of(f, call->id, kTimespecGet, work, turns);
    default: return batch_of(f, call->id, kGetres, work, turns);
  }
}

static double batch(const Library* f, const Call* call, Work work, unsigned turns) {
  switch (work) {
    case kDependentLoads: return batch_between(f, call, kDependentLoads, turns);
    case kArithmetic: return batch_between(f, call, kArithmetic, turns);
    default: return batch_between(f, call, kNone, turns);
  }
}

static void* symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "ab_cost: %s\n", dlerror());
    exit(1);
  }
  return found;
}

static Library load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "ab_cost: %s\n", dlerror());
    exit(1);
  }
  Library f;
  *(void**)&f.clock_gettime = symbol(library, "clock_gettime");
  *(void**)&f.gettimeofday = symbol(library, "gettimeofday");
  *(void**)&f.time = symbol(library, "time");
  *(void**)&f.timespec_get = symbol(library, "timespec_get");
  *(void**)&f.clock_getres = symbol(library, "clock_getres");
  return f;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* samples, unsigned count) {
  qsort(samples, count, sizeof samples[0], ascending);
  return (samples[(count - 1) / 2] + samples[count / 2]) / 2;
}

static unsigned turns_per_batch(const Library* f, const Call* call, Work work) {
  const double one = batch(f, call, work, 200);
  return one < kBatchNs / 16.0 ? (unsigned)(kBatchNs / (one > 1 ? one : 1)) : 16;
}

static void compare(const Library* a, const Library* b, const Call* call, Work work, unsigned rounds) {
  static double in_a[kMostRounds], in_b[kMostRounds], ratio[kMostRounds];
  const unsigned turns = turns_per_batch(a, call, work);
  turns_per_batch(b, call, work); /* warms it */
  for (unsigned round = 0; round < rounds; ++round) {
    const double alone = work == kNone ? 0 : batch(NULL, call, work, turns);
    for (unsigned turn = 0; turn < 2; ++turn) {
      const int takes_a = (round + turn) % 2 == 0;
      (takes_a ? in_a : in_b)[round] = batch(takes_a ? a : b, call, work, turns) - alone;
    }
    ratio[round] = in_b[round] / in_a[round];
  }
  const double middle = median(ratio, rounds);
  printf("%s\t%.4f\t%.4f\t%.5f\n", call->name, median(in_a, rounds), median(in_b, rounds), middle);
}

int main(int count, char** arguments) {
  const unsigned rounds = count > 4 ? (unsigned)atoi(arguments[3]) : 0;
  if (rounds < 1 || rounds > kMostRounds) {
    fprintf(stderr, "Usage: ab_cost A.so B.so ROUNDS none|loads|arithmetic [first]\n");
    return 64;
  }
  const Work work = strcmp(arguments[4], "loads") == 0        ? kDependentLoads
                    : strcmp(arguments[4], "arithmetic") == 0 ? kArithmetic
                                                              : kNone;
  const int b_first = count > 5;
  fill_chain();
  const Library first = load(arguments[b_first ? 2 : 1]);
  const Library second = load(arguments[b_first ? 1 : 2]);
  for (int i = 0; i < kCallCount; ++i) {
    compare(b_first ? &second : &first, b_first ? &first : &second, &kCalls[i], work, rounds);
  }
  return 0;
}
