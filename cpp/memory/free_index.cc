#include "memory/free_index.h"

namespace octavo {

namespace {

uint64_t countOfTree(const CachedBlock* root) {
  return root ? 1 + countOfTree(root->left) + countOfTree(root->right) : 0;
}

uint64_t countOfList(const CachedBlock* head) {
  uint64_t count = 0;
  for (; head; head = head->right) ++count;
  return count;
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

void FreeIndex::insertBeside(size_t bin, CachedBlock& block) noexcept {
  CachedBlock** place = &roots_[bin];
  while (*place && (*place)->priority >= block.priority) {
    place = isBefore(block, **place) ? &(*place)->left : &(*place)->right;
  }
  split(*place, block, &block.left, &block.right);
  *place = &block;
}

/** At least one other stays in the bin. */
void FreeIndex::eraseAmong(size_t bin, CachedBlock& block) noexcept {
  CachedBlock** place = &roots_[bin];
  while (*place != &block) place = isBefore(block, **place) ? &(*place)->left : &(*place)->right;
  *place = merge(block.left, block.right);
}

uint64_t FreeIndex::count() const noexcept {
  uint64_t count = 0;
  for (size_t bin = 0; bin < kBins; ++bin) count += (bin < kExact ? countOfList : countOfTree)(roots_[bin]);
  return count;
}

size_t FreeIndex::largest() const noexcept {
  if (usedWords_ == 0) return 0;
  const size_t word = 31 - static_cast<size_t>(std::countl_zero(usedWords_));
  const size_t bin = word * 64 + 63 - static_cast<size_t>(std::countl_zero(used_[word]));
  const CachedBlock* at = roots_[bin];
  while (bin >= kExact && at->right) at = at->right;
  return at->bytes;
}

bool FreeIndex::contains(const CachedBlock& block) const noexcept {
  const size_t bin = binOf(block.bytes);
  if (bin < kExact) return (block.left ? block.left->right : roots_[bin]) == &block;
  const CachedBlock* at = roots_[bin];
  while (at && at != &block) at = isBefore(block, *at) ? at->left : at->right;
  return at != nullptr;
}

}  // namespace octavo
