// A CUDA driver that has no device: it gives out addresses and handles, knows which of them live, and refuses what the
// real one refuses. Addresses return last in, first out, as soon as they are freed: the hardest case for a tracer.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SUCCESS 0
#define INVALID_VALUE 1
#define OUT_OF_MEMORY 2
#define INVALID_CONTEXT 201
#define NOT_FOUND 500
#define LIVE 65536

typedef unsigned long long word;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static word next_value = 0x7f0000000000;
static struct { word value; int space; word context; } live[LIVE];
static int live_count;
static word freed[LIVE];
static int freed_count;
static __thread word current;
static word primary;
static int primary_references;

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }
__attribute__((constructor)) static void survive_forks(void) { pthread_atfork(lock, unlock, unlock); }

// A new value that lives in a space; the last one freed comes back first.
static word take(int space) {
  pthread_mutex_lock(&mutex);
  word value = 0;
  if (live_count < LIVE) {
    value = freed_count > 0 ? freed[--freed_count] : (next_value += 1 << 21);
    live[live_count].value = value;
    live[live_count].context = current;
    live[live_count++].space = space;
  }
  pthread_mutex_unlock(&mutex);
  return value;
}

static int give(word value, int space) {
  if (value == 0) return SUCCESS;
  pthread_mutex_lock(&mutex);
  int at = 0;
  while (at < live_count && (live[at].value != value || live[at].space != space)) at++;
  int known = at < live_count;
  if (known) {
    live[at] = live[--live_count];
    if (freed_count < LIVE) freed[freed_count++] = value;
  }
  pthread_mutex_unlock(&mutex);
  return known ? SUCCESS : INVALID_VALUE;
}

static int put(word *out, int space) {
  *out = take(space);
  return *out == 0 ? OUT_OF_MEMORY : SUCCESS;
}

static void drop_context(word context) {
  pthread_mutex_lock(&mutex);
  for (int at = 0; at < live_count;) {
    if (live[at].context == context && live[at].space != 4) live[at] = live[--live_count];
    else at++;
  }
  pthread_mutex_unlock(&mutex);
}

enum { DEVICE, PINNED, REGISTERED, CONTEXT_SPACE, HANDLE, STREAM, EVENT, GRAPH, POOL };

int cuInit(unsigned flags) { return flags == 0 ? SUCCESS : INVALID_VALUE; }
int cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
int cuDeviceGetCount(int *count) { *count = 1; return SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal == 0 ? SUCCESS : 101; }

int cuCtxGetCurrent(word *context) { *context = current; return SUCCESS; }
int cuCtxSetCurrent(word context) { current = context; return SUCCESS; }
int cuCtxCreate_v2(word *context, unsigned flags, int device) {
  (void)flags, (void)device;
  int result = put(context, CONTEXT_SPACE);
  current = *context;
  return result;
}
int cuCtxDestroy_v2(word context) {
  int result = give(context, CONTEXT_SPACE);
  if (result == SUCCESS) drop_context(context);
  if (current == context) current = 0;
  return result;
}
int cuDevicePrimaryCtxRetain(word *context, int device) {
  (void)device;
  if (primary == 0) primary = 0x5500000000;
  primary_references++;
  *context = primary;
  return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  if (primary_references == 0) return INVALID_CONTEXT;
  if (--primary_references == 0) drop_context(primary);
  return SUCCESS;
}
int cuDevicePrimaryCtxReset_v2(int device) { (void)device; drop_context(primary); return SUCCESS; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  (void)device;
  *flags = 0;
  *active = primary_references > 0;
  return SUCCESS;
}

int cuMemAlloc_v2(word *address, size_t bytes) {
  return bytes == 0 ? INVALID_VALUE : bytes > (1ull << 40) ? OUT_OF_MEMORY : put(address, DEVICE);
}
int cuMemAllocPitch_v2(word *address, size_t *pitch, size_t width, size_t height, unsigned element) {
  (void)height, (void)element;
  *pitch = (width + 511) & ~(size_t)511;
  return put(address, DEVICE);
}
int cuMemAllocManaged(word *address, size_t bytes, unsigned flags) {
  (void)bytes, (void)flags;
  return put(address, DEVICE);
}
// A form that no toolkit has yet.
int cuMemAlloc_v14(int device, word *address, size_t bytes) { return device == 0 ? cuMemAlloc_v2(address, bytes) : 1; }
int cuMemFree_v2(word address) { return give(address, DEVICE); }
int cuMemAllocAsync(word *address, size_t bytes, void *stream) {
  (void)bytes, (void)stream;
  return put(address, DEVICE);
}
int cuMemAllocAsync_ptsz(word *address, size_t bytes, void *stream) { return cuMemAllocAsync(address, bytes, stream); }
int cuMemAllocFromPoolAsync(word *address, size_t bytes, void *pool, void *stream) {
  (void)pool;
  return cuMemAllocAsync(address, bytes, stream);
}
int cuMemFreeAsync(word address, void *stream) { (void)stream; return give(address, DEVICE); }
int cuMemFreeAsync_ptsz(word address, void *stream) { (void)stream; return give(address, DEVICE); }
int cuMemPoolCreate(word *pool, const void *properties) { (void)properties; return put(pool, POOL); }
int cuMemPoolDestroy(word pool) { return give(pool, POOL); }
int cuMemPoolTrimTo(word pool, size_t bytes) { (void)pool, (void)bytes; return SUCCESS; }

int cuMemHostAlloc(word *address, size_t bytes, unsigned flags) {
  (void)bytes, (void)flags;
  return put(address, PINNED);
}
int cuMemAllocHost_v2(word *address, size_t bytes) { return cuMemHostAlloc(address, bytes, 0); }
int cuMemFreeHost(word address) { return give(address, PINNED); }
int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  (void)bytes, (void)flags;
  pthread_mutex_lock(&mutex);
  live[live_count].value = (word)(uintptr_t)address;
  live[live_count].context = current;
  live[live_count++].space = REGISTERED;
  pthread_mutex_unlock(&mutex);
  return SUCCESS;
}
int cuMemHostUnregister(void *address) {
  int result = give((word)(uintptr_t)address, REGISTERED);
  pthread_mutex_lock(&mutex);
  if (result == SUCCESS) freed_count--;  // the program's own address is not ours to give out
  pthread_mutex_unlock(&mutex);
  return result;
}

static struct { word address; word handle; } mappings[1024];
static int mapping_count;
int cuMemCreate(word *handle, size_t bytes, const void *properties, word flags) {
  (void)bytes, (void)properties, (void)flags;
  return put(handle, HANDLE);
}
int cuMemRelease(word handle) { return give(handle, HANDLE); }
int cuMemMap(word address, size_t bytes, size_t offset, word handle, word flags) {
  (void)bytes, (void)offset, (void)flags;
  mappings[mapping_count].address = address;
  mappings[mapping_count++].handle = handle;
  return SUCCESS;
}
int cuMemUnmap(word address, size_t bytes) {
  int found = 0;
  for (int at = 0; at < mapping_count;) {
    if (mappings[at].address - address >= bytes) at++;
    else mappings[at] = mappings[--mapping_count], found = 1;
  }
  return found ? SUCCESS : INVALID_VALUE;
}
int cuMemRetainAllocationHandle(word *handle, void *address) { (void)address; return put(handle, HANDLE); }

int cuStreamCreate(word *stream, unsigned flags) { (void)flags; return put(stream, STREAM); }
int cuStreamCreateWithPriority(word *stream, unsigned flags, int priority) {
  (void)flags, (void)priority;
  return put(stream, STREAM);
}
int cuStreamDestroy_v2(word stream) { return give(stream, STREAM); }
int cuEventCreate(word *event, unsigned flags) { (void)flags; return put(event, EVENT); }
int cuEventDestroy_v2(word event) { return give(event, EVENT); }
int cuGraphInstantiateWithFlags(word *exec, word graph, word flags) {
  (void)graph, (void)flags;
  return put(exec, GRAPH);
}
int cuGraphExecDestroy(word exec) { return give(exec, GRAPH); }

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);

// Linked with -Bsymbolic, as a driver's own references are: these are our functions and nobody's wrappers.
#define ROW(base, symbol, version) {#base, (void *)symbol, (void *)symbol, version}
#define PLAIN(symbol) ROW(symbol, symbol, 2000)
static const struct { const char *base; void *legacy, *per_thread; int version; } rows[] = {
    PLAIN(cuInit), PLAIN(cuDriverGetVersion), PLAIN(cuDeviceGetCount), PLAIN(cuDeviceGet),
    PLAIN(cuCtxGetCurrent), PLAIN(cuCtxSetCurrent), ROW(cuCtxCreate, cuCtxCreate_v2, 3020),
    ROW(cuCtxDestroy, cuCtxDestroy_v2, 4000), ROW(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000),
    ROW(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000),
    ROW(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000),
    ROW(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000),
    ROW(cuMemAlloc, cuMemAlloc_v2, 3020), ROW(cuMemAlloc, cuMemAlloc_v14, 14000),
    ROW(cuMemAllocPitch, cuMemAllocPitch_v2, 3020),
    ROW(cuMemAllocManaged, cuMemAllocManaged, 6000), ROW(cuMemFree, cuMemFree_v2, 3020),
    {"cuMemAllocAsync", (void *)cuMemAllocAsync, (void *)cuMemAllocAsync_ptsz, 11020},
    {"cuMemFreeAsync", (void *)cuMemFreeAsync, (void *)cuMemFreeAsync_ptsz, 11020},
    ROW(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020), ROW(cuMemPoolCreate, cuMemPoolCreate, 11020),
    ROW(cuMemPoolDestroy, cuMemPoolDestroy, 11020), ROW(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020),
    ROW(cuMemHostAlloc, cuMemHostAlloc, 2020), ROW(cuMemAllocHost, cuMemAllocHost_v2, 3020),
    PLAIN(cuMemFreeHost), ROW(cuMemHostRegister, cuMemHostRegister_v2, 6050),
    ROW(cuMemHostUnregister, cuMemHostUnregister, 4000), ROW(cuMemCreate, cuMemCreate, 10020),
    ROW(cuMemRelease, cuMemRelease, 10020), ROW(cuMemMap, cuMemMap, 10020), ROW(cuMemUnmap, cuMemUnmap, 10020),
    ROW(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000), PLAIN(cuStreamCreate),
    ROW(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050), ROW(cuStreamDestroy, cuStreamDestroy_v2, 4000),
    PLAIN(cuEventCreate), ROW(cuEventDestroy, cuEventDestroy_v2, 4000),
    ROW(cuGraphInstantiate, cuGraphInstantiateWithFlags, 12000), ROW(cuGraphExecDestroy, cuGraphExecDestroy, 10000),
    ROW(cuGetProcAddress, cuGetProcAddress, 11030), ROW(cuGetProcAddress, cuGetProcAddress_v2, 12000),
};

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status) {
  *function = 0;
  for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
    if (strcmp(symbol, rows[at].base) != 0 || version < rows[at].version) continue;
    *function = (flags & 2) != 0 ? rows[at].per_thread : rows[at].legacy;
  }
  if (status != 0) *status = *function == 0 ? 1 : 0;
  return *function == 0 ? NOT_FOUND : SUCCESS;
}
int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, 0);
}
