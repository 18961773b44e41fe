// Nanoseconds that a pair of cuMemAlloc and cuMemFree takes, the median of many, at a stack depth like a framework's.
// Arguments: pairs, threads. Prints one number a line: the median of each thread.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver.h"

static int pairs;

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static int compare(const void *a, const void *b) {
  long long x = *(const long long *)a, y = *(const long long *)b;
  return (x > y) - (x < y);
}

__attribute__((noinline)) static long long once(void) {
  word address;
  long long start = now();
  if (cuMemAlloc_v2(&address, 4096) != 0 || cuMemFree_v2(address) != 0) exit(1);
  return now() - start;
}

__attribute__((noinline)) static long long deep(int depth) {
  volatile long long taken = depth == 0 ? once() : deep(depth - 1);
  return taken;
}

static void *measure(void *result) {
  long long *taken = malloc(sizeof *taken * (size_t)pairs);
  for (int pair = 0; pair < pairs; pair++) taken[pair] = deep(12);
  qsort(taken, (size_t)pairs, sizeof *taken, compare);
  *(long long *)result = taken[pairs / 2];
  free(taken);
  return 0;
}

int main(int count, char **arguments) {
  pairs = count > 1 ? atoi(arguments[1]) : 100000;
  int threads = count > 2 ? atoi(arguments[2]) : 1;
  pthread_t thread[64];
  long long median[64];
  for (int index = 0; index < threads; index++) pthread_create(&thread[index], 0, measure, &median[index]);
  for (int index = 0; index < threads; index++) pthread_join(thread[index], 0);
  for (int index = 0; index < threads; index++) printf("%lld\n", median[index]);
  return 0;
}
