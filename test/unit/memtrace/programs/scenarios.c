// Programs to be traced: one scenario an invocation, named by the first argument.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

#define NOINLINE __attribute__((noinline))
#define CHECK(call) do { if ((call) != 0) { fprintf(stderr, "%s failed\n", #call); exit(99); } } while (0)

static word sink;
static const char *self;

NOINLINE word plant(size_t bytes) {
  word address = 0;
  CHECK(cuMemAlloc_v2(&address, bytes));
  sink += address;
  return address;
}

NOINLINE void use(size_t bytes) {
  word address;
  CHECK(cuMemAlloc_v2(&address, bytes));
  CHECK(cuMemFree_v2(address));
  sink += address;
}

static int leak(void) {
  for (int round = 0; round < 10; round++) {
    use(1 << 20);
    if (round % 4 == 0) plant(123456);
  }
  return 7;
}

static int clean(void) {
  for (int round = 0; round < 100; round++) use(4096);
  return 0;
}

static int refused(void) {
  word address = plant(1000);
  CHECK(cuMemFree_v2(0));
  CHECK(cuMemFree_v2(address));
  if (cuMemFree_v2(address) == 0) return 1;  // a second time
  return cuMemAlloc_v2(&address, (size_t)1 << 41) == 0;
}

static int kinds(void) {
  word a, b, c, d, e, stream;
  size_t pitch;
  void *pinned, *mapped;
  static char page[4096];
  CHECK(cuMemAllocPitch_v2(&a, &pitch, 1000, 3, 4));
  CHECK(cuMemAllocManaged(&b, 2000, 1));
  CHECK(cuStreamCreate(&stream, 0));
  CHECK(cuMemAllocAsync(&c, 3000, stream));
  CHECK(cuMemAllocAsync_ptsz(&d, 4000, 0));
  CHECK(cuMemAllocAsync(&e, 5000, stream));
  CHECK(cuMemHostAlloc(&pinned, 6000, 0));
  CHECK(cuMemAllocHost_v2(&mapped, 7000));
  CHECK(cuMemHostRegister_v2(page, sizeof page, 0));
  CHECK(cuMemFreeAsync(c, stream));
  CHECK(cuMemFree_v2(e));  // stream-ordered memory may be freed by either
  CHECK(cuMemFreeHost(mapped));
  return 0;
}

static int objects(void) {
  word object;
  for (int count = 0; count < 3; count++) CHECK(cuStreamCreateWithPriority(&object, 0, 0));
  CHECK(cuStreamDestroy_v2(object));
  for (int count = 0; count < 5; count++) CHECK(cuEventCreate(&object, 0));
  CHECK(cuEventDestroy_v2(object));
  CHECK(cuGraphInstantiateWithFlags(&object, 0, 0));
  CHECK(cuMemPoolCreate(&object, 0));
  CHECK(cuMemPoolTrimTo(object, 0));
  return 0;
}

#define PAGE ((size_t)2 << 20)

// The four lives of physical memory; only the second and the third are still held at the end.
NOINLINE void mapped_and_let_go(void) {
  word handle;
  CHECK(cuMemCreate(&handle, PAGE, 0, 0));
  CHECK(cuMemMap(0x10000000, PAGE, 0, handle, 0));
  CHECK(cuMemRelease(handle));
  CHECK(cuMemUnmap(0x10000000, PAGE));
}
NOINLINE void never_unmapped(void) {
  word handle;
  CHECK(cuMemCreate(&handle, PAGE, 0, 0));
  CHECK(cuMemMap(0x20000000, PAGE, 0, handle, 0));
  CHECK(cuMemRelease(handle));
}
NOINLINE void handle_retained(void) {
  word handle;
  CHECK(cuMemCreate(&handle, 3 * PAGE, 0, 0));
  CHECK(cuMemMap(0x30000000, 3 * PAGE, 0, handle, 0));
  CHECK(cuMemUnmap(0x30000000, 3 * PAGE));
}
NOINLINE void two_mappings_at_once(void) {
  word first, second, again;
  CHECK(cuMemCreate(&first, PAGE, 0, 0));
  CHECK(cuMemCreate(&second, PAGE, 0, 0));
  CHECK(cuMemMap(0x40000000, PAGE, 0, first, 0));
  CHECK(cuMemMap(0x40000000 + PAGE, PAGE, 0, second, 0));
  CHECK(cuMemRetainAllocationHandle(&again, (void *)(0x40000000 + PAGE)));
  CHECK(cuMemRelease(first));
  CHECK(cuMemRelease(second));
  CHECK(cuMemUnmap(0x40000000, 2 * PAGE));
  CHECK(cuMemRelease(again));
}
static int virtual_memory(void) {
  mapped_and_let_go();
  never_unmapped();
  handle_retained();
  two_mappings_at_once();
  return 0;
}

static int context(void) {
  word context, object;
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  for (int count = 0; count < 3; count++) plant(500);
  CHECK(cuStreamCreate(&object, 0));
  CHECK(cuCtxDestroy_v2(context));
  return 0;
}

static void release_primary(void) { cuDevicePrimaryCtxRelease_v2(0); }

// As the CUDA runtime does: the context goes when the process ends, and would take what was forgotten with it.
static int primary(void) {
  word context;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  atexit(release_primary);
  plant(700);
  CHECK(cuDevicePrimaryCtxReset_v2(0));
  plant(800);
  return 0;
}

static void free_sink(void) { cuMemFree_v2(sink); }

// What atexit handlers free is freed.
static int late(void) {
  sink = 0;
  plant(900);
  atexit(free_sink);
  return 0;
}

enum { THREADS = 8, ROUNDS = 2000, SLOTS = 64 };
static word handed[SLOTS];
static pthread_mutex_t handing = PTHREAD_MUTEX_INITIALIZER;

static void *stress(void *argument) {
  unsigned state = (unsigned)(size_t)argument * 2654435761u + 1;
  for (int round = 0; round < ROUNDS; round++) {
    state = state * 1664525u + 1013904223u;
    word mine;
    CHECK(cuMemAlloc_v2(&mine, 1 + state % 100000));
    pthread_mutex_lock(&handing);
    word theirs = handed[state >> 26];  // most likely another thread's
    handed[state >> 26] = mine;
    pthread_mutex_unlock(&handing);
    if (theirs != 0) CHECK(cuMemFree_v2(theirs));
    if (round % 500 == 0) plant(1000);
  }
  return 0;
}

static int threads(void) {
  pthread_t thread[THREADS];
  for (size_t index = 0; index < THREADS; index++) pthread_create(&thread[index], 0, stress, (void *)index);
  for (size_t index = 0; index < THREADS; index++) pthread_join(thread[index], 0);
  for (int slot = 0; slot < SLOTS; slot++) CHECK(cuMemFree_v2(handed[slot]));
  return 0;
}

static int end_exit(void) { plant(1000); exit(3); }
static int end_now(void) { plant(1000); _exit(4); }
static int end_quick(void) { plant(1000); quick_exit(5); }
static int end_abort(void) { plant(1000); abort(); }
static int end_fault(void) { plant(1000); *(volatile int *)sink = 0; return 0; }
static int end_term(void) { plant(1000); raise(SIGTERM); return 0; }

static int forked(void) {
  plant(1000);
  pid_t child = fork();
  if (child == 0) {
    plant(2000);
    _exit(0);
  }
  return waitpid(child, 0, 0) != child;
}

static volatile int done;

static void *churn(void *argument) {
  (void)argument;
  while (!done) use(3000);
  return 0;
}

// Forks while other threads are in the middle of traced calls.
static int forks(void) {
  pthread_t thread[4];
  for (int index = 0; index < 4; index++) pthread_create(&thread[index], 0, churn, 0);
  int failed = 0;
  for (int round = 0; round < 30; round++) {
    pid_t child = fork();
    if (child == 0) {
      plant(2000);
      use(100);
      _exit(5);
    }
    int status;
    failed |= waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5;
  }
  done = 1;
  for (int index = 0; index < 4; index++) pthread_join(thread[index], 0);
  return failed;
}

static int vforked(void) {
  plant(1000);
  pid_t child = vfork();
  if (child == 0) _exit(0);
  return waitpid(child, 0, 0) != child;
}

static int started(void) {
  pid_t child = fork();
  if (child == 0) {
    execl(self, self, "leak", (char *)0);
    _exit(98);
  }
  int status;
  return waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7;
}

static int replaced(void) {
  plant(1000);
  execl("/nowhere", "nowhere", (char *)0);
  char *arguments[] = {(char *)self, "nothing", 0};
  execv(self, arguments);
  return 97;
}

static int nothing(void) { return 0; }

static volatile sig_atomic_t told;
static void tell(int number) { told = number; }

// Says that it is ready, goes on allocating until SIGUSR1 comes, then ends.
static int waiting(void) {
  signal(SIGUSR1, tell);
  plant(1000);
  printf("ready\n");
  fflush(stdout);
  while (!told) usleep(1000);
  return 0;
}

static int all_closed(void) {
  plant(1000);
  for (int file = 3; file < 2000; file++) close(file);
  close(1);
  return 0;
}

static const struct { const char *name; int (*run)(void); } scenarios[] = {
    {"leak", leak}, {"clean", clean}, {"refused", refused}, {"kinds", kinds}, {"objects", objects},
    {"virtual", virtual_memory}, {"context", context}, {"primary", primary}, {"late", late}, {"threads", threads},
    {"exit", end_exit}, {"_exit", end_now}, {"quick_exit", end_quick}, {"abort", end_abort}, {"fault", end_fault},
    {"term", end_term}, {"fork", forked}, {"forks", forks}, {"vfork", vforked}, {"started", started},
    {"replaced", replaced}, {"nothing", nothing}, {"waiting", waiting}, {"closed", all_closed},
};

int main(int count, char **arguments) {
  self = arguments[0];
  for (size_t at = 0; count > 1 && at < sizeof scenarios / sizeof *scenarios; at++) {
    if (strcmp(arguments[1], scenarios[at].name) == 0) return scenarios[at].run();
  }
  fprintf(stderr, "no such scenario\n");
  return 96;
}
