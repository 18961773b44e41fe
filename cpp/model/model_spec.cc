#include "model/model_spec.h"

#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace octavo {

namespace {

// Bounds under which no product of shapes or bytes in this floor leaves 63 bits.
constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
constexpr int64_t kMaxHidden = int64_t{1} << 18;
constexpr int64_t kMaxIntermediate = int64_t{1} << 22;
constexpr int64_t kMaxContext = int64_t{1} << 27;
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 256;  // of the attention kernels

std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

/** Checks values of one spec; every message begins with the family. */
class SpecCheck {
 public:
  explicit SpecCheck(const ModelSpec& spec) : spec_(spec) {}

  void run() const {
    integer("vocabularySize", spec_.vocabularySize, 1, kMaxVocabulary);
    integer("sampledVocabulary", spec_.sampledVocabulary, 1, spec_.vocabularySize);
    integer("hiddenSize", spec_.hiddenSize, 1, kMaxHidden);
    integer("contextLength", spec_.contextLength, 1, kMaxContext);
    number("normEpsilon", spec_.normEpsilon, 1);
    integer("the number of layers", static_cast<int64_t>(spec_.layers.size()), 1, kMaxLayers);
    integer("the number of ropes", static_cast<int64_t>(spec_.ropes.size()), 1, kMaxLayers);
    for (size_t index = 0; index < spec_.ropes.size(); ++index) rope(index);
    for (size_t index = 0; index < spec_.layers.size(); ++index) layer(index);
  }

 private:
  void layer(size_t index) const {
    const std::string at = "layers[" + std::to_string(index) + "].";
    const AttentionSpec& attention = spec_.layers[index].attention;
    integer(at + "attention.heads", attention.heads, 1, kMaxHeads);
    integer(at + "attention.kvHeads", attention.kvHeads, 1, attention.heads);
    integer(at + "attention.headDim", attention.headDim, 2, kMaxHeadDim);
    number(at + "attention.scale", attention.scale, 1e6);
    integer(at + "attention.window", attention.window, 0, kMaxContext);
    integer(at + "attention.rope", attention.rope, 0, static_cast<int64_t>(spec_.ropes.size()) - 1);
    integer(at + "mlp.intermediateSize", spec_.layers[index].mlp.intermediateSize, 1, kMaxIntermediate);
    if (attention.heads % attention.kvHeads != 0) {
      refuse(ErrorCode::kUnsupportedModel, at + "attention has " + std::to_string(attention.heads) + " heads over " +
                                               std::to_string(attention.kvHeads) +
                                               " KV heads; the heads must be a multiple of the KV heads");
    }
    headDim(at, attention);
    sharedCache(at, attention);
  }

  void headDim(const std::string& at, const AttentionSpec& attention) const {
    if (attention.headDim % 2 != 0) {
      refuse(ErrorCode::kUnsupportedModel, at + "attention.headDim is " + std::to_string(attention.headDim) +
                                               "; rotary embeddings need an even one");
    }
    const size_t frequencies = spec_.ropes[attention.rope].inverseFrequencies.size();
    if (frequencies * 2 != static_cast<size_t>(attention.headDim)) {
      refuse(ErrorCode::kInvalidArgument, at + "attention.headDim is " + std::to_string(attention.headDim) +
                                              ", but ropes[" + std::to_string(attention.rope) + "] has " +
                                              std::to_string(frequencies) + " frequencies; it must be half of it");
    }
  }

  /** There is one cache group for now: all layers store the same shape. */
  void sharedCache(const std::string& at, const AttentionSpec& attention) const {
    const AttentionSpec& first = spec_.layers[0].attention;
    if (attention.kvHeads == first.kvHeads && attention.headDim == first.headDim) return;
    refuse(ErrorCode::kUnsupportedModel,
           at + "attention has " + std::to_string(attention.kvHeads) + " KV heads of " +
               std::to_string(attention.headDim) + ", layers[0] has " + std::to_string(first.kvHeads) + " of " +
               std::to_string(first.headDim) + "; all layers must share one KV shape");
  }

  void rope(size_t index) const {
    const std::string at = "ropes[" + std::to_string(index) + "].";
    number(at + "magnitude", spec_.ropes[index].magnitude, 1e6);
    for (const float frequency : spec_.ropes[index].inverseFrequencies) {
      if (std::isfinite(frequency) && frequency >= 0) continue;
      refuse(ErrorCode::kInvalidArgument, at + "inverseFrequencies holds " + text(frequency) +
                                              "; allowed: finite and not negative");
    }
  }

  void integer(const std::string& what, int64_t value, int64_t least, int64_t most) const {
    if (value >= least && value <= most) return;
    refuse(ErrorCode::kInvalidArgument, what + " is " + std::to_string(value) + "; allowed: " +
                                            std::to_string(least) + " to " + std::to_string(most));
  }

  /** Finite, above zero, at most `most`. */
  void number(const std::string& what, double value, double most) const {
    if (value > 0 && value <= most) return;
    refuse(ErrorCode::kInvalidArgument, what + " is " + text(value) + "; allowed: above 0, at most " + text(most));
  }

  [[noreturn]] void refuse(ErrorCode code, const std::string& problem) const {
    throw Error(code, "model spec (" + spec_.family + "): " + problem);
  }

  const ModelSpec& spec_;
};

}  // namespace

void ModelSpec::validate() const { SpecCheck(*this).run(); }

}  // namespace octavo
