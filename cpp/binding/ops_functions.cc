// The table of op functions: ops.NAME(device, { … }).
#include "binding/addon_data.h"
#include "binding/errors.h"
#include "binding/ops_binding.h"

namespace octavo {

namespace {

struct NamedOp {
  const char* name;
  OpFunction function;
};

constexpr NamedOp kOps[] = {
    {"fillRandom", callFillRandom},
    {"convert", callConvert},     {"embedding", callEmbedding},   {"gatherRows", callGatherRows},
    {"rmsNorm", callRmsNorm},     {"addRmsNorm", callAddRmsNorm}, {"add", callAdd},
    {"headNorm", callHeadNorm},   {"linear", callLinear},         {"quantizedLinear", callQuantizedLinear},
    {"groupedLinear", callGroupedLinear}, {"fusedLinear", callFusedLinear},
    {"linearTiles", callLinearTiles}, {"tuneLinear", callTuneLinear}, {"keepTuned", callKeepTuned},
    {"dequantize", callDequantize}, {"repack", callRepack},       {"arrange", callArrange},
    {"rope", callRope},
    {"kvWrite", callKvWrite},     {"pagedAttention", callPagedAttention},
    {"ropeKvWrite", callRopeKvWrite}, {"copyBlocks", callCopyBlocks},
    {"ropeAttention", callRopeAttention},
    {"latentWrite", callLatentWrite}, {"latentRead", callLatentRead},
    {"latentAttention", callLatentAttention}, {"expandedAttention", callExpandedAttention},
    {"swiglu", callSwiglu},       {"sample", callSample},
};

Napi::Value runOp(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&] {
    const NamedOp& op = *static_cast<const NamedOp*>(info.Data());
    OpsTable& table = AddonData::of(env).ops;
    const Napi::Value handle = info[0];
    if (!handle.IsNumber()) refuse("the device", handle, "a handle");
    OpenDevice& device = table.device(handle.As<Napi::Number>().Int64Value());
    return op.function(env, OpCall(table, device, Fields(info[1], op.name)));
  });
}

}  // namespace

void addOpFunctions(Napi::Env env, Napi::Object ops) {
  for (const NamedOp& op : kOps) {
    ops.Set(op.name, Napi::Function::New(env, runOp, op.name, const_cast<NamedOp*>(&op)));
  }
}

void initOps(Napi::Env env, Napi::Object exports) {
  addDeviceFunctions(env, exports);
  Napi::Object ops = Napi::Object::New(env);
  addBufferFunctions(env, ops);
  addOpFunctions(env, ops);
  exports.Set("ops", ops);
}

}  // namespace octavo
