/* A program that knows nothing of vvarclock: it calls the clocks as any program does and prints nanoseconds per call, one
 * clock a line, as "name<tab>ns". Built by plain cc.
 *
 * The figure is the median of many short batches, so that being put aside by the scheduler now and then does not count. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

enum { kCallsPerBatch = 1000, kBatches = 401, kClocks = 5 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void read_clock(int which) {
  struct timespec t;
  struct timeval v;
  switch (which) {
    case 0:
      clock_gettime(CLOCK_MONOTONIC, &t);
      break;
    case 1:
      clock_gettime(CLOCK_REALTIME, &t);
      break;
    case 2:
      clock_gettime(CLOCK_MONOTONIC_RAW, &t);
      break;
    case 3:
      clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
      break;
    default:
      gettimeofday(&v, NULL);
  }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(void) {
  static const char* const kNames[kClocks] = {"clock_gettime MONOTONIC", "clock_gettime REALTIME",
                                              "clock_gettime MONOTONIC_RAW", "clock_gettime MONOTONIC_COARSE",
                                              "gettimeofday"};
  static double took[kBatches];
  for (int which = 0; which < kClocks; ++which) {
    for (int batch = 0; batch < kBatches; ++batch) {
      const double start = now();
      for (int i = 0; i < kCallsPerBatch; ++i) {
        read_clock(which);
      }
      took[batch] = now() - start;
    }
    qsort(took, kBatches, sizeof took[0], ascending);
    printf("%s\t%.2f\n", kNames[which], took[kBatches / 2] / kCallsPerBatch);
  }
  return 0;
}
