// The native side of `octavo/ops`: devices, buffers and every op as a function of named arguments.
#pragma once

#include <napi.h>

#include "binding/ops_views.h"

namespace octavo {

/** Adds `ops`, `cudaStatus`, `listDevices` and `memoryUse` to the addon. */
void initOps(Napi::Env env, Napi::Object exports);

/** The parts of initOps. */
void addDeviceFunctions(Napi::Env env, Napi::Object exports);  // cudaStatus, listDevices, memoryUse
void addBufferFunctions(Napi::Env env, Napi::Object ops);      // open, close, buffers, copies
void addOpFunctions(Napi::Env env, Napi::Object ops);          // one function an op

/** An op: checks its arguments, enqueues the work; the value is the op's result or undefined. */
using OpFunction = Napi::Value (*)(Napi::Env env, const OpCall& call);

Napi::Value callConvert(Napi::Env env, const OpCall& call);
Napi::Value callFillRandom(Napi::Env env, const OpCall& call);
Napi::Value callEmbedding(Napi::Env env, const OpCall& call);
Napi::Value callGatherRows(Napi::Env env, const OpCall& call);
Napi::Value callRmsNorm(Napi::Env env, const OpCall& call);
Napi::Value callAddRmsNorm(Napi::Env env, const OpCall& call);
Napi::Value callAdd(Napi::Env env, const OpCall& call);
Napi::Value callHeadNorm(Napi::Env env, const OpCall& call);
Napi::Value callLinear(Napi::Env env, const OpCall& call);
Napi::Value callQuantizedLinear(Napi::Env env, const OpCall& call);
Napi::Value callFusedLinear(Napi::Env env, const OpCall& call);
Napi::Value callGroupedLinear(Napi::Env env, const OpCall& call);
Napi::Value callDequantize(Napi::Env env, const OpCall& call);
Napi::Value callRepack(Napi::Env env, const OpCall& call);
Napi::Value callArrange(Napi::Env env, const OpCall& call);
Napi::Value callRope(Napi::Env env, const OpCall& call);
Napi::Value callKvWrite(Napi::Env env, const OpCall& call);
Napi::Value callRopeKvWrite(Napi::Env env, const OpCall& call);
Napi::Value callCopyBlocks(Napi::Env env, const OpCall& call);
Napi::Value callPagedAttention(Napi::Env env, const OpCall& call);
Napi::Value callRopeAttention(Napi::Env env, const OpCall& call);
Napi::Value callLatentWrite(Napi::Env env, const OpCall& call);
Napi::Value callLatentRead(Napi::Env env, const OpCall& call);
Napi::Value callLatentAttention(Napi::Env env, const OpCall& call);
Napi::Value callExpandedAttention(Napi::Env env, const OpCall& call);
Napi::Value callLinearTiles(Napi::Env env, const OpCall& call);
Napi::Value callTuneLinear(Napi::Env env, const OpCall& call);
Napi::Value callKeepTuned(Napi::Env env, const OpCall& call);
Napi::Value callSwiglu(Napi::Env env, const OpCall& call);
Napi::Value callSample(Napi::Env env, const OpCall& call);

}  // namespace octavo
