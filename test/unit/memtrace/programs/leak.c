// Linked against libcuda: allocates, frees, and forgets three blocks in one place.
#include <stddef.h>
typedef unsigned long long word;
int cuInit(unsigned flags);
int cuMemAlloc_v2(word *address, size_t bytes);
int cuMemFree_v2(word address);

__attribute__((noinline)) word forget(size_t bytes) {
  word address = 0;
  if (cuMemAlloc_v2(&address, bytes) != 0) return 0;
  return address + 1;
}

__attribute__((noinline)) int use(size_t bytes) {
  word address;
  if (cuMemAlloc_v2(&address, bytes) != 0) return 1;
  return cuMemFree_v2(address) + 0;
}

int main(void) {
  if (cuInit(0) != 0) return 2;
  for (int round = 0; round < 10; round++) {
    if (use(1 << 20) != 0) return 3;
    if (round % 4 == 0 && forget(123456) == 0) return 4;
  }
  return 7;
}
