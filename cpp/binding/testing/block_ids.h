// Block ids between JS arrays and vectors.
#pragma once

#include <napi.h>

#include <vector>

#include "kv/block_pages.h"

namespace octavo::testing {

inline Napi::Array toArray(Napi::Env env, const std::vector<BlockId>& blocks) {
  Napi::Array ids = Napi::Array::New(env, blocks.size());
  for (uint32_t index = 0; index < blocks.size(); ++index) ids.Set(index, blocks[index]);
  return ids;
}

inline std::vector<BlockId> toBlocks(Napi::Value value) {
  const auto ids = value.As<Napi::Array>();
  std::vector<BlockId> blocks;
  for (uint32_t index = 0; index < ids.Length(); ++index) {
    blocks.push_back(ids.Get(index).As<Napi::Number>().Int32Value());
  }
  return blocks;
}

}  // namespace octavo::testing
