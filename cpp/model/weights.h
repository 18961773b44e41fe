// Weights: from files, through a fixed pinned ring, to their final place on the device.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocator.h"
#include "model/checkpoint_files.h"
#include "model/linear_weight.h"
#include "model/mapped_files.h"
#include "model/model_spec.h"
#include "model/stored_tensor.h"
#include "ops/tensor.h"

namespace octavo {

/** A canonical parameter: its parts' rows, one below the other. */
struct WeightEntry {
  std::string name;              // canonical
  std::vector<WeightPart> parts;
};

struct WeightManifest {
  std::vector<std::string> files;
  std::vector<WeightEntry> entries;
  /** Weights of this seed at random, in the shapes of the entries; there are no files. See model/dummy_weights.h. */
  std::optional<uint64_t> dummySeed;

  /** Throws kIoFailed. */
  CheckpointFiles openFiles() const;

  /**
   * Checks the manifest against the spec and the files on disk: every parameter once, shapes and byte
   * counts right, every range inside its file. Opens the files, takes no device memory.
   * Throws kCheckpointMismatch, kCheckpointInvalid, kUnsupportedModel, kIoFailed naming tensor and file.
   */
  void validate(const ModelSpec& spec) const;
};

/** What the product with a parameter that has codes is planned by. */
struct CodedShape {
  int64_t rows = 0, columns = 0;
  ActivationScaling scaling = ActivationScaling::kNone;  // of any part
};

/** Of the parameters with codes. */
std::vector<CodedShape> codedShapes(const WeightManifest& manifest);

struct LoadProgress {
  uint64_t doneBytes = 0, totalBytes = 0;
};

/** How weights travel from files to the device. */
struct StreamOptions {
  size_t ringLimit = std::numeric_limits<size_t>::max();  // bytes of the pinned ring; it takes 64 MiB at most anyway
  /** Give the page cache of what was read back at once; absent: when it would take over half of the free memory. */
  std::optional<bool> dropBehind;
  /** Leave in their files the parameters that lie there as they are needed; where device memory is the host's. */
  bool mapFiles = false;
  uint64_t failChunk = 0;  // test hook: reading the n-th chunk fails; 0: none does
};

/** What a load holds beside the weights, as the allocator rounds it. */
struct StreamBytes {
  size_t ring = 0;     // region pinned; 0 when every byte is read straight to its place
  size_t staging = 0;  // region workspace; 0 when nothing is converted, and no codes are put in order
};

struct ParameterPlace;

/** The parameters of a model on a device; one arena in region weights. */
class Weights {
 public:
  /**
   * Streams a validated manifest. `dtype` is what matrices are stored as (kF32/kBF16/kF16);
   * when `keepFileDType`, each parameter keeps its file's dtype instead (the CPU device). Norms and biases
   * always keep it; parts of different dtypes are stored as fp32 then. While it runs it also holds `streamBytes`:
   * at most 64 MiB pinned, and 8 MiB of region workspace when it converts (1/8 and 1/64 of the file bytes if less);
   * where device memory is the host's, what needs no conversion is read straight to its place.
   * Quantised parameters keep their codes, brought into the layout of QuantizedMatrix on the device and then, with at
   * most 8 MiB of region workspace or what 64 rows take, into the order that it multiplies fastest; where its memory is
   * the host's, they stay in rows, and activations as they are, whatever the checkpoint says.
   * Dummy weights are made in their places; only the order of codes takes memory beside them then.
   * `progress` is called from this thread about every 64 MiB and at the end; `cancelled` is polled at least
   * every 8 MiB. Validates again. Throws what `validate` throws, kOutOfMemory, kCancelled, kDeviceFailed; on a
   * throw nothing stays allocated.
   */
  static Weights load(DeviceAllocator& allocator, const ModelSpec& spec, const WeightManifest& manifest,
                      DType dtype, bool keepFileDType,
                      const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled,
                      const StreamOptions& stream = {});

  /** Bytes `load` will take in region weights (each parameter aligned to 256): exactly. */
  static size_t plannedBytes(const ModelSpec& spec, const WeightManifest& manifest, DType dtype,
                             bool keepFileDType, bool mapFiles = false);
  /** Bytes of the files that `load` leaves there, to be read through mappings. */
  static size_t mappedBytes(const ModelSpec& spec, const WeightManifest& manifest, DType dtype, bool keepFileDType);
  /** Bytes `load` takes until it returns: exactly. */
  static StreamBytes streamBytes(const ModelSpec& spec, const WeightManifest& manifest, DType dtype,
                                 bool keepFileDType, bool sharesHostMemory, size_t ringLimit,
                                 bool mapFiles = false);

  Matrix matrix(const std::string& name) const;  // throws kInternal when absent, or not of numbers alone
  LinearWeight linear(const std::string& name) const;  // throws kInternal when absent
  Vector vector(const std::string& name) const;  // data == nullptr when absent
  /** Of the parameters with codes. */
  const std::vector<CodedShape>& codedShapes() const { return codedShapes_; }
  size_t bytes() const { return arena_.bytes(); }
  /** Of the files that parameters are read through: what is in memory now, whoever read it in. O(pages). */
  uint64_t mappedResidentBytes() const { return files_.residentBytes(); }

 private:
  void* addressOf(const ParameterPlace& place) const;
  void arrange(DeviceAllocator& allocator, size_t scratchBytes);

  struct Parameter { void* data; DType dtype; std::vector<int64_t> shape; };
  Allocation arena_;
  MappedFiles files_;  // of mapped parameters
  std::map<std::string, Parameter> parameters_;
  std::map<std::string, LinearWeight> coded_;  // those with codes
  std::vector<CodedShape> codedShapes_;
};

}  // namespace octavo
