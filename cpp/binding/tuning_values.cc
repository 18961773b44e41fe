#include "binding/tuning_values.h"

#include <iterator>
#include <limits>

namespace octavo {

namespace {

constexpr int64_t kLargestInt = std::numeric_limits<int32_t>::max();
constexpr double kMostSeconds = 3600, kMostMicroseconds = 1e12;
constexpr const char* kSharings[] = {"none", "x", "weight", "depth"};
static_assert(std::size(kSharings) == kTileSharings);

TileSharing readSharing(const Fields& tile) {
  const std::string name = tile.text("sharing");
  for (int sharing = 0; sharing < kTileSharings; ++sharing) {
    if (name == kSharings[sharing]) return static_cast<TileSharing>(sharing);
  }
  tile.refuse("sharing", "'none', 'x', 'weight' or 'depth'");
}

LinearTile readTile(const Fields& tile) { return {tile.int32("rows"), tile.int32("columns"), readSharing(tile)}; }

}  // namespace

TunedLinear readTuned(const Fields& tuned) {
  TunedLinear read;
  read.rows = tuned.integer("rows", 1, kLargestInt);
  read.columns = tuned.integer("columns", 1, kLargestInt);
  read.depth = tuned.integer("depth", 1, kLargestInt);
  read.tile = readTile(tuned.fields("plan"));
  read.microseconds = tuned.number("microseconds", 0, kMostMicroseconds);
  read.untunedMicroseconds = tuned.number("untunedMicroseconds", 0, kMostMicroseconds);
  return read;
}

TuningOptions readTuning(const Fields& options) {
  TuningOptions read;
  read.nanoseconds = static_cast<int64_t>(options.number("seconds", 1e-9, kMostSeconds) * 1e9);
  read.card = options.text("card");
  read.multiprocessors = options.int32("multiprocessors");
  for (const Fields& known : options.fieldsList("known")) read.known.push_back(readTuned(known));
  return read;
}

Napi::Object toValue(Napi::Env env, const LinearTile& tile) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("rows", tile.rows);
  made.Set("columns", tile.columns);
  made.Set("sharing", kSharings[static_cast<int>(tile.sharing)]);
  return made;
}

Napi::Object toValue(Napi::Env env, const TunedLinear& tuned) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("rows", static_cast<double>(tuned.rows));
  made.Set("columns", static_cast<double>(tuned.columns));
  made.Set("depth", static_cast<double>(tuned.depth));
  made.Set("plan", toValue(env, tuned.tile));
  made.Set("microseconds", tuned.microseconds);
  made.Set("untunedMicroseconds", tuned.untunedMicroseconds);
  return made;
}

Napi::Object makeTuning(Napi::Env env, const TuningReport& report) {
  Napi::Array entries = Napi::Array::New(env);
  for (const TunedProduct& product : report.products) {
    Napi::Object made = toValue(env, static_cast<const TunedLinear&>(product));
    made.Set("wasKnown", product.wasKnown);
    entries.Set(entries.Length(), made);
  }
  Napi::Object made = Napi::Object::New(env);
  made.Set("enabled", report.enabled);
  made.Set("card", report.card);
  made.Set("multiprocessors", report.multiprocessors);
  made.Set("seconds", static_cast<double>(report.nanoseconds) / 1e9);
  made.Set("entries", entries);
  made.Set("unfinished", report.unfinished);
  return made;
}

}  // namespace octavo
