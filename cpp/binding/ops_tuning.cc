// Argument checks of what measures the tiles of dense products.
#include "base/error.h"
#include "binding/ops_binding.h"
#include "binding/tuning_values.h"

namespace octavo {

namespace {

constexpr int64_t kMostSize = int64_t{1} << 31;

LinearTrial readTrial(const OpCall& call) {
  LinearTrial trial{{}, call.matrix("x"), call.matrix("out"), 0};
  trial.nanoseconds = static_cast<int64_t>(call.fields().number("seconds", 0, 3600) * 1e9);
  const Matrix weight = call.matrix("weight");
  call.requireEqual("out.rows", trial.out.rows, "x.rows", trial.x.rows);
  call.requireEqual("out.columns", trial.out.columns, "weight.rows", weight.rows);
  call.requireEqual("x.columns", trial.x.columns, "weight.columns", weight.columns);
  trial.weights.push_back(weight);
  return trial;
}

}  // namespace

/** linearTiles(device, {rows, columns, depth}): the one in use first. */
Napi::Value callLinearTiles(Napi::Env env, const OpCall& call) {
  const auto size = [&](const char* name) { return call.fields().integer(name, 1, kMostSize); };
  Napi::Array made = Napi::Array::New(env);
  for (const LinearTile& tile : call.ops().linearTiles(size("rows"), size("columns"), size("depth"))) {
    made.Set(made.Length(), toValue(env, tile));
  }
  return made;
}

/** tuneLinear(device, {x, out, weight, seconds}): null where nothing came of it. */
Napi::Value callTuneLinear(Napi::Env env, const OpCall& call) {
  const LinearTuning tuning = call.ops().tuneLinear(readTrial(call), call.stream());
  if (!tuning.hasChoice || !tuning.isFinished) return env.Null();
  Napi::Object made = toValue(env, tuning.tuned);
  made.Set("tried", tuning.tuned.tried);
  return made;
}

/** keepTuned(device, NativeTuned): false where the device does not take it. */
Napi::Value callKeepTuned(Napi::Env env, const OpCall& call) {
  const bool isKept = call.ops().keepTuned(readTuned(call.fields()));
  call.ops().checkTuned();
  return Napi::Boolean::New(env, isKept);
}

}  // namespace octavo
