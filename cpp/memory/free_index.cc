#include "memory/free_index.h"

namespace octavo {

namespace {

uint64_t countOf(const CachedBlock* root) {
  return root ? 1 + countOf(root->left) + countOf(root->right) : 0;
}

bool isBefore(const CachedBlock& left, const CachedBlock& right) {
  return left.bytes != right.bytes ? left.bytes < right.bytes : left.data < right.data;
}

/** The tree under `root`, apart at `key`. */
void split(CachedBlock* root, const CachedBlock& key, CachedBlock** left, CachedBlock** right) noexcept {
  while (root) {
    if (isBefore(*root, key)) {
      *left = root;
      left = &root->right;
      root = *left;
    } else {
      *right = root;
      right = &root->left;
      root = *right;
    }
  }
  *left = *right = nullptr;
}

/** Two trees as one; all of `left` lies before `right`. */
CachedBlock* merge(CachedBlock* left, CachedBlock* right) noexcept {
  CachedBlock* root = nullptr;
  CachedBlock** place = &root;
  while (left && right) {
    if (left->priority > right->priority) {
      *place = left;
      place = &left->right;
      left = *place;
    } else {
      *place = right;
      place = &right->left;
      right = *place;
    }
  }
  *place = left ? left : right;
  return root;
}

}  // namespace

void FreeIndex::insert(CachedBlock& block) noexcept {
  const size_t bin = binOf(block.bytes);
  CachedBlock** place = &roots_[bin];
  if (!*place) {
    used_[bin / 64] |= uint64_t{1} << bin % 64;
    usedWords_ |= uint32_t{1} << bin / 64;
    block.left = block.right = nullptr;
  } else {
    while (*place && (*place)->priority >= block.priority) {
      place = isBefore(block, **place) ? &(*place)->left : &(*place)->right;
    }
    split(*place, block, &block.left, &block.right);
  }
  *place = &block;
}

void FreeIndex::erase(CachedBlock& block) noexcept { eraseFrom(binOf(block.bytes), block); }

void FreeIndex::eraseFrom(size_t bin, CachedBlock& block) noexcept {
  CachedBlock** place = &roots_[bin];
  while (*place != &block) place = isBefore(block, **place) ? &(*place)->left : &(*place)->right;
  *place = merge(block.left, block.right);
  if (roots_[bin]) return;
  used_[bin / 64] &= ~(uint64_t{1} << bin % 64);
  if (used_[bin / 64] == 0) usedWords_ &= ~(uint32_t{1} << bin / 64);
}

size_t FreeIndex::firstBinFrom(size_t bin) const noexcept {
  if (bin >= kBins) return kBins;
  const size_t word = bin / 64;
  const uint64_t here = used_[word] >> bin % 64;
  if (here != 0) return bin + static_cast<size_t>(std::countr_zero(here));
  const uint32_t later = word + 1 < 32 ? usedWords_ >> (word + 1) : 0;
  if (later == 0) return kBins;
  const size_t found = word + 1 + static_cast<size_t>(std::countr_zero(later));
  return found * 64 + static_cast<size_t>(std::countr_zero(used_[found]));
}

const CachedBlock* FreeIndex::bestFit(size_t bytes) const noexcept {
  const size_t bin = binOf(bytes);
  if (bin >= kBins) return nullptr;
  const CachedBlock* best = nullptr;
  for (const CachedBlock* at = roots_[bin]; at;) {
    const bool fits = at->bytes >= bytes;
    if (fits) best = at;
    at = fits ? at->left : at->right;
  }
  if (best) return best;
  const size_t larger = firstBinFrom(bin + 1);
  if (larger == kBins) return nullptr;
  best = roots_[larger];
  while (best->left) best = best->left;
  return best;
}

CachedBlock* FreeIndex::takeBestFit(size_t bytes) noexcept { return takeBestFit(bytes, SIZE_MAX); }

CachedBlock* FreeIndex::takeBestFit(size_t bytes, size_t most) noexcept {
  auto* const best = const_cast<CachedBlock*>(bestFit(bytes));
  if (!best || best->bytes > most) return nullptr;
  erase(*best);
  return best;
}

uint64_t FreeIndex::count() const noexcept {
  uint64_t count = 0;
  for (const CachedBlock* root : roots_) count += countOf(root);
  return count;
}

size_t FreeIndex::largest() const noexcept {
  if (usedWords_ == 0) return 0;
  const size_t word = 31 - static_cast<size_t>(std::countl_zero(usedWords_));
  const size_t bin = word * 64 + 63 - static_cast<size_t>(std::countl_zero(used_[word]));
  const CachedBlock* at = roots_[bin];
  while (at->right) at = at->right;
  return at->bytes;
}

bool FreeIndex::contains(const CachedBlock& block) const noexcept {
  const CachedBlock* at = roots_[binOf(block.bytes)];
  while (at && at != &block) at = isBefore(block, *at) ? at->left : at->right;
  return at != nullptr;
}

}  // namespace octavo
