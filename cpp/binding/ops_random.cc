// Argument checks of memory filled at random.
#include <limits>

#include "base/error.h"
#include "binding/ops_binding.h"

namespace octavo {

namespace {

constexpr int64_t kMostElements = int64_t{1} << 48;
constexpr double kLargestFloat = std::numeric_limits<float>::max();

struct NamedKind {
  const char* name;
  RandomKind kind;
};
constexpr NamedKind kKinds[] = {
    {"uniform", RandomKind::kUniform}, {"bits", RandomKind::kBits}, {"e4m3", RandomKind::kE4M3}};

RandomKind readKind(const Fields& given) {
  const std::string name = given.text("kind");
  for (const NamedKind& known : kKinds) {
    if (name == known.name) return known.kind;
  }
  given.refuse("kind", "uniform, bits or e4m3");
}

}  // namespace

Napi::Value callFillRandom(Napi::Env env, const OpCall& call) {
  const Fields& given = call.fields();
  RandomFill fill;
  fill.kind = readKind(given);
  const bool isUniform = fill.kind == RandomKind::kUniform;
  fill.dtype = isUniform ? given.floatDType("dtype") : given.dtype("dtype");
  if (!isUniform && fill.dtype != DType::kU8) given.refuse("dtype", "u8 for bytes");
  fill.first = given.integer("first", 0, kMostElements);
  fill.count = given.integer("count", 1, kMostElements);
  fill.seed = given.bigUint64("seed");
  if (isUniform) {
    fill.middle = static_cast<float>(given.number("middle", -kLargestFloat, kLargestFloat));
    fill.reach = static_cast<float>(given.number("reach", 0, kLargestFloat));
  }
  fill.to = call.bytes(given, "to", fill.count * static_cast<int64_t>(dtypeBytes(fill.dtype)));
  call.ops().fillRandom(fill, call.stream());
  return env.Undefined();
}

}  // namespace octavo
