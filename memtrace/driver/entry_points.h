// Every driver function that is traced: ENTRY(base, symbol, version, stream, parameters).
//
// `base` and `version` are what cuGetProcAddress is asked by; `symbol` is the name that libcuda exports for that
// version; `stream` says whether it is the form for the per-thread default stream ("CUDA Driver API", sections 6.13
// memory, 6.14 virtual memory, 6.15 stream-ordered memory, 6.18 streams, 6.19 events, 6.24 graphs, 6.36 entry points;
// the versions are those of cudaTypedefs.h). One symbol may stand under two bases.
#pragma once

#include "driver/types.h"

// clang-format off
#define OCTAVO_MEMTRACE_ENTRIES(ENTRY) \
  ENTRY(cuMemAlloc, cuMemAlloc, 2000, legacy, (DevicePointer32* address, unsigned int bytes)) \
  ENTRY(cuMemAlloc, cuMemAlloc_v2, 3020, legacy, (DevicePointer* address, size_t bytes)) \
  ENTRY(cuMemAllocPitch, cuMemAllocPitch, 2000, legacy, \
        (DevicePointer32* address, unsigned int* pitch, unsigned int width, unsigned int height, \
         unsigned int element)) \
  ENTRY(cuMemAllocPitch, cuMemAllocPitch_v2, 3020, legacy, \
        (DevicePointer* address, size_t* pitch, size_t width, size_t height, unsigned int element)) \
  ENTRY(cuMemAllocManaged, cuMemAllocManaged, 6000, legacy, \
        (DevicePointer* address, size_t bytes, unsigned int flags)) \
  ENTRY(cuMemFree, cuMemFree, 2000, legacy, (DevicePointer32 address)) \
  ENTRY(cuMemFree, cuMemFree_v2, 3020, legacy, (DevicePointer address)) \
  ENTRY(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, legacy, \
        (DevicePointer* address, IpcHandle handle, unsigned int flags)) \
  ENTRY(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, 11000, legacy, \
        (DevicePointer* address, IpcHandle handle, unsigned int flags)) \
  ENTRY(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, legacy, (DevicePointer address)) \
  ENTRY(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, 10000, legacy, \
        (DevicePointer* address, ExternalMemory memory, const ExternalBuffer* buffer)) \
  ENTRY(cuMemAllocHost, cuMemAllocHost, 2000, legacy, (void** address, unsigned int bytes)) \
  ENTRY(cuMemAllocHost, cuMemAllocHost_v2, 3020, legacy, (void** address, size_t bytes)) \
  ENTRY(cuMemHostAlloc, cuMemHostAlloc, 2020, legacy, (void** address, size_t bytes, unsigned int flags)) \
  ENTRY(cuMemFreeHost, cuMemFreeHost, 2000, legacy, (void* address)) \
  ENTRY(cuMemHostRegister, cuMemHostRegister, 4000, legacy, (void* address, size_t bytes, unsigned int flags)) \
  ENTRY(cuMemHostRegister, cuMemHostRegister_v2, 6050, legacy, (void* address, size_t bytes, unsigned int flags)) \
  ENTRY(cuMemHostUnregister, cuMemHostUnregister, 4000, legacy, (void* address)) \
  ENTRY(cuMemAllocAsync, cuMemAllocAsync, 11020, legacy, (DevicePointer* address, size_t bytes, Stream stream)) \
  ENTRY(cuMemAllocAsync, cuMemAllocAsync_ptsz, 11020, perThread, \
        (DevicePointer* address, size_t bytes, Stream stream)) \
  ENTRY(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, legacy, \
        (DevicePointer* address, size_t bytes, MemoryPool pool, Stream stream)) \
  ENTRY(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, 11020, perThread, \
        (DevicePointer* address, size_t bytes, MemoryPool pool, Stream stream)) \
  ENTRY(cuMemFreeAsync, cuMemFreeAsync, 11020, legacy, (DevicePointer address, Stream stream)) \
  ENTRY(cuMemFreeAsync, cuMemFreeAsync_ptsz, 11020, perThread, (DevicePointer address, Stream stream)) \
  ENTRY(cuMemPoolCreate, cuMemPoolCreate, 11020, legacy, (MemoryPool* pool, const void* properties)) \
  ENTRY(cuMemPoolDestroy, cuMemPoolDestroy, 11020, legacy, (MemoryPool pool)) \
  ENTRY(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, legacy, (MemoryPool pool, size_t bytes)) \
  ENTRY(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020, legacy, \
        (MemoryPool* pool, void* handle, int handleType, unsigned long long flags)) \
  ENTRY(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020, legacy, \
        (DevicePointer* address, MemoryPool pool, void* shared)) \
  ENTRY(cuMemCreate, cuMemCreate, 10020, legacy, \
        (MemoryHandle* handle, size_t bytes, const void* properties, unsigned long long flags)) \
  ENTRY(cuMemRelease, cuMemRelease, 10020, legacy, (MemoryHandle handle)) \
  ENTRY(cuMemMap, cuMemMap, 10020, legacy, \
        (DevicePointer address, size_t bytes, size_t offset, MemoryHandle handle, unsigned long long flags)) \
  ENTRY(cuMemUnmap, cuMemUnmap, 10020, legacy, (DevicePointer address, size_t bytes)) \
  ENTRY(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, legacy, \
        (MemoryHandle* handle, void* address)) \
  ENTRY(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, legacy, \
        (MemoryHandle* handle, void* shared, int handleType)) \
  ENTRY(cuMulticastCreate, cuMulticastCreate, 12010, legacy, (MemoryHandle* handle, const void* properties)) \
  ENTRY(cuStreamCreate, cuStreamCreate, 2000, legacy, (Stream* stream, unsigned int flags)) \
  ENTRY(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, legacy, \
        (Stream* stream, unsigned int flags, int priority)) \
  ENTRY(cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050, legacy, \
        (Stream* stream, GreenContext context, unsigned int flags, int priority)) \
  ENTRY(cuStreamDestroy, cuStreamDestroy, 2000, legacy, (Stream stream)) \
  ENTRY(cuStreamDestroy, cuStreamDestroy_v2, 4000, legacy, (Stream stream)) \
  ENTRY(cuEventCreate, cuEventCreate, 2000, legacy, (Event* event, unsigned int flags)) \
  ENTRY(cuIpcOpenEventHandle, cuIpcOpenEventHandle, 4010, legacy, (Event* event, IpcHandle handle)) \
  ENTRY(cuEventDestroy, cuEventDestroy, 2000, legacy, (Event event)) \
  ENTRY(cuEventDestroy, cuEventDestroy_v2, 4000, legacy, (Event event)) \
  ENTRY(cuGraphInstantiate, cuGraphInstantiate, 10000, legacy, \
        (GraphExec* exec, Graph graph, Word third, Word fourth, Word fifth)) \
  ENTRY(cuGraphInstantiate, cuGraphInstantiate_v2, 11000, legacy, \
        (GraphExec* exec, Graph graph, Word third, Word fourth, Word fifth)) \
  ENTRY(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, legacy, \
        (GraphExec* exec, Graph graph, unsigned long long flags)) \
  ENTRY(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, legacy, \
        (GraphExec* exec, Graph graph, void* parameters)) \
  ENTRY(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz, 12000, perThread, \
        (GraphExec* exec, Graph graph, void* parameters)) \
  ENTRY(cuGraphExecDestroy, cuGraphExecDestroy, 10000, legacy, (GraphExec exec)) \
  ENTRY(cuCtxCreate, cuCtxCreate, 2000, legacy, (Context* context, unsigned int flags, Device device)) \
  ENTRY(cuCtxCreate, cuCtxCreate_v2, 3020, legacy, (Context* context, unsigned int flags, Device device)) \
  ENTRY(cuCtxCreate, cuCtxCreate_v3, 11040, legacy, \
        (Context* context, void* affinity, int count, unsigned int flags, Device device)) \
  ENTRY(cuCtxCreate, cuCtxCreate_v4, 12050, legacy, \
        (Context* context, void* parameters, unsigned int flags, Device device)) \
  ENTRY(cuCtxDestroy, cuCtxDestroy, 2000, legacy, (Context context)) \
  ENTRY(cuCtxDestroy, cuCtxDestroy_v2, 4000, legacy, (Context context)) \
  ENTRY(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, legacy, (Context* context, Device device)) \
  ENTRY(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, legacy, (Device device)) \
  ENTRY(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, legacy, (Device device)) \
  ENTRY(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, legacy, (Device device)) \
  ENTRY(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, legacy, (Device device)) \
  ENTRY(cuGetProcAddress, cuGetProcAddress, 11030, legacy, \
        (const char* symbol, void** function, int version, uint64_t flags)) \
  ENTRY(cuGetProcAddress, cuGetProcAddress_v2, 12000, legacy, \
        (const char* symbol, void** function, int version, uint64_t flags, int* status))
// clang-format on

namespace octavo::memtrace {

enum class Entry {
#define OCTAVO_ENTRY(base, symbol, version, stream, parameters) symbol,
  OCTAVO_MEMTRACE_ENTRIES(OCTAVO_ENTRY)
#undef OCTAVO_ENTRY
};

/** `Prototype<Entry::cuMemFree_v2>::type`, the function's type. */
template <Entry>
struct Prototype;
#define OCTAVO_ENTRY(base, symbol, version, stream, parameters) \
  template <>                                                   \
  struct Prototype<Entry::symbol> {                             \
    using type = Result parameters;                             \
  };
OCTAVO_MEMTRACE_ENTRIES(OCTAVO_ENTRY)
#undef OCTAVO_ENTRY

}  // namespace octavo::memtrace
