/* Prints what one clock call costs, for C libraries other than glibc. Usage: times CALLS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const long calls = argc > 1 ? atol(argv[1]) : 1000;
  double best = 1e18;
  for (int round = 0; round < 5; ++round) {
    const double begin = now();
    for (long i = 0; i < calls / 5; ++i) {
      now();
    }
    const double took = (now() - begin) / (double)(calls / 5);
    best = took < best ? took : best;
  }
  printf("clock_gettime\t%.1f\n", best);
  return 0;
}
