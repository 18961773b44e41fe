// Programs that find the driver at run time, one way an invocation.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long word;
typedef int (*Alloc)(word *, size_t);
typedef int (*AllocAsync)(word *, size_t, void *);
typedef int (*Free)(word);
typedef int (*Find1)(const char *, void **, int, uint64_t);
typedef int (*Find2)(const char *, void **, int, uint64_t, int *);

static word sink;

__attribute__((noinline)) static void *must(void *value, const char *what) {
  if (value == 0) {
    fprintf(stderr, "no %s\n", what);
    exit(99);
  }
  return value;
}

// Ten allocations of 5000 bytes, all but one freed.
__attribute__((noinline)) void plant(Alloc alloc, Free release) {
  for (int round = 0; round < 10; round++) {
    word address = 0;
    if (alloc(&address, 5000) != 0 || address == 0) exit(98);
    if (round > 0 && release(address) != 0) exit(97);
    sink += address;
  }
}

static void *driver(int mode) { return must(dlopen("libcuda.so.1", mode), "libcuda.so.1"); }

static void by_name(void) {
  void *handle = driver(RTLD_NOW);
  plant(must(dlsym(handle, "cuMemAlloc_v2"), "alloc"), must(dlsym(handle, "cuMemFree_v2"), "free"));
}

static void by_default(void) {
  driver(RTLD_NOW | RTLD_GLOBAL);
  plant(must(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), "alloc"), must(dlsym(dlopen(0, RTLD_NOW), "cuMemFree_v2"), "free"));
}

static void *find2(Find2 find, const char *name, int version, uint64_t flags) {
  void *function = 0;
  int status = -1;
  if (find(name, &function, version, flags, &status) != 0 || status != 0) return 0;
  return function;
}

// As the CUDA runtime from 12.0 on does it, which asks for cuGetProcAddress itself too.
static void by_proc_address(void) {
  Find2 first = must(dlsym(driver(RTLD_LAZY), "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
  Find2 find = must(find2(first, "cuGetProcAddress", 12000, 0), "cuGetProcAddress");
  plant(must(find2(find, "cuMemAlloc", 12000, 0), "alloc"), must(find2(find, "cuMemFree", 12000, 0), "free"));
}

// As 11.3 to 11.8 do it.
static void by_old_proc_address(void) {
  Find1 find = must(dlsym(driver(RTLD_LAZY), "cuGetProcAddress"), "cuGetProcAddress");
  void *alloc = 0, *release = 0;
  if (find("cuMemAlloc", &alloc, 11030, 0) != 0 || find("cuMemFree", &release, 11030, 0) != 0) exit(96);
  plant(alloc, release);
}

static void per_thread(void) {
  Find2 find = must(dlsym(driver(RTLD_LAZY), "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
  AllocAsync alloc = must(find2(find, "cuMemAllocAsync", 12000, 2), "alloc");
  AllocAsync other = must(find2(find, "cuMemAllocAsync", 12000, 1), "alloc");
  if (alloc == other) exit(95);  // two functions of the driver, two wrappers
  word address;
  if (alloc(&address, 5000, (void *)2) != 0) exit(94);
}

// What a version does not have is not found, through us as without us.
static void too_old(void) {
  Find2 find = must(dlsym(driver(RTLD_LAZY), "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
  if (find2(find, "cuMemAllocAsync", 11010, 0) != 0 || find2(find, "cuNoSuchThing", 13000, 0) != 0) exit(93);
  if (find2(find, "cuInit", 13000, 0) == 0) exit(92);
}

// A runtime of a CUDA that does not exist yet: what has changed is left alone, what has not is traced.
static void newer(void) {
  Find2 find = must(dlsym(driver(RTLD_LAZY), "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
  int (*changed)(int, word *, size_t) = must(find2(find, "cuMemAlloc", 14000, 0), "alloc");
  AllocAsync same = must(find2(find, "cuMemAllocAsync", 14000, 0), "alloc");
  word address;
  if (changed(0, &address, 1000) != 0 || same(&address, 5000, 0) != 0) exit(85);
}

static void reopened(void) {
  for (int round = 0; round < 3; round++) {
    void *handle = driver(RTLD_NOW);
    plant(must(dlsym(handle, "cuMemAlloc_v2"), "alloc"), must(dlsym(handle, "cuMemFree_v2"), "free"));
    if (dlclose(handle) != 0) exit(91);
  }
}

// Without a driver our wrappers are not there either.
static void hidden(void) {
  dlerror();
  if (dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != 0 || dlsym(dlopen(0, RTLD_NOW), "cuMemFree_v2") != 0) exit(90);
  if (dlvsym(RTLD_DEFAULT, "cuMemAlloc_v2", "GLIBC_2.34") != 0) exit(89);
  const char *error = dlerror();
  if (error == 0 || strstr(error, "cuMemAlloc_v2") == 0) exit(88);
  if (dlsym(RTLD_DEFAULT, "printf") != (void *)printf) exit(87);
}

int main(int count, char **arguments) {
  static const struct { const char *name; void (*run)(void); } ways[] = {
      {"dlsym", by_name}, {"default", by_default}, {"proc", by_proc_address}, {"old-proc", by_old_proc_address},
      {"per-thread", per_thread}, {"too-old", too_old}, {"reopened", reopened}, {"newer", newer}, {"hidden", hidden},
  };
  for (size_t at = 0; count > 1 && at < sizeof ways / sizeof *ways; at++) {
    if (strcmp(arguments[1], ways[at].name) != 0) continue;
    ways[at].run();
    return 0;
  }
  return 86;
}
