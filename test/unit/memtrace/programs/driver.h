// The driver's functions as the test programs call them: all handles and addresses are words.
#include <stddef.h>

typedef unsigned long long word;

int cuMemAlloc_v2(word *address, size_t bytes);
int cuMemFree_v2(word address);
int cuMemAllocPitch_v2(word *address, size_t *pitch, size_t width, size_t height, unsigned element);
int cuMemAllocManaged(word *address, size_t bytes, unsigned flags);
int cuMemAllocAsync(word *address, size_t bytes, word stream);
int cuMemAllocAsync_ptsz(word *address, size_t bytes, word stream);
int cuMemFreeAsync(word address, word stream);
int cuMemHostAlloc(void **address, size_t bytes, unsigned flags);
int cuMemAllocHost_v2(void **address, size_t bytes);
int cuMemFreeHost(void *address);
int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags);
int cuMemCreate(word *handle, size_t bytes, const void *properties, word flags);
int cuMemRelease(word handle);
int cuMemMap(word address, size_t bytes, size_t offset, word handle, word flags);
int cuMemUnmap(word address, size_t bytes);
int cuMemRetainAllocationHandle(word *handle, void *address);
int cuMemPoolCreate(word *pool, const void *properties);
int cuMemPoolTrimTo(word pool, size_t bytes);
int cuStreamCreate(word *stream, unsigned flags);
int cuStreamCreateWithPriority(word *stream, unsigned flags, int priority);
int cuStreamDestroy_v2(word stream);
int cuEventCreate(word *event, unsigned flags);
int cuEventDestroy_v2(word event);
int cuGraphInstantiateWithFlags(word *exec, word graph, word flags);
int cuCtxCreate_v2(word *context, unsigned flags, int device);
int cuCtxDestroy_v2(word context);
int cuCtxSetCurrent(word context);
int cuDevicePrimaryCtxRetain(word *context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxReset_v2(int device);
