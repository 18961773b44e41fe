// The types of the CUDA driver API that the traced functions take, declared by hand so that no toolkit is needed:
// "CUDA Driver API", section 6.1 (data types). Pointers to structures that are only passed on stay void*.
// test/unit/memtrace/programs/check_prototypes.cc holds them to cudaTypedefs.h where a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo::memtrace {

/** CUresult. */
using Result = int;
constexpr Result kSuccess = 0;
/** CUDA_ERROR_NOT_FOUND: what we answer when a program calls what its driver lacks. */
constexpr Result kNotFound = 500;

/** CUdeviceptr and its 32-bit form of CUDA 2. */
using DevicePointer = unsigned long long;
using DevicePointer32 = unsigned int;
/** CUmemGenericAllocationHandle. */
using MemoryHandle = unsigned long long;
/** CUdevice. */
using Device = int;

/** CUcontext, CUstream, CUevent, CUmemoryPool, CUgraph, CUgraphExec, CUgreenCtx, CUexternalMemory. */
using Context = struct ContextObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using MemoryPool = struct MemoryPoolObject*;
using Graph = struct GraphObject*;
using GraphExec = struct GraphExecObject*;
using GreenContext = struct GreenContextObject*;
using ExternalMemory = struct ExternalMemoryObject*;

/** CUipcMemHandle, CUipcEventHandle: 64 bytes, passed by value. */
struct IpcHandle {
  char reserved[64];
};

/** CUDA_EXTERNAL_MEMORY_BUFFER_DESC. */
struct ExternalBuffer {
  unsigned long long offset;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
};

/** CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM. */
constexpr uint64_t kPerThreadDefaultStream = 2;

/** Parameters after the fifth integer ride along in registers, so one wrapper serves two forms of a function. */
using Word = uintptr_t;

}  // namespace octavo::memtrace
