// Names of KV blocks by what they hold: a chain of keyed hashes over a sequence's tokens.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace octavo {

/** The identity of one full block: its tokens, all tokens before them, and whose and what model's they are. */
struct PrefixHash {
  uint64_t low = 0, high = 0;
  auto operator<=>(const PrefixHash&) const = default;
  /** For tables: the hash is one already. */
  struct Bucket {
    size_t operator()(const PrefixHash& hash) const { return static_cast<size_t>(hash.low); }
  };
};

/**
 * SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012) under a secret key: who does not know the key cannot
 * make two prefixes meet, and a block is taken for another by chance once in 2⁶⁴ or so.
 */
class PrefixHasher {
 public:
  struct Key { uint64_t low = 0, high = 0; };

  explicit PrefixHasher(Key key) : key_(key) {}
  /** A key that nobody knows; of the system's random source. */
  static Key randomKey();

  /** Where the chains of one model and one tenant begin; both texts may hold any bytes. */
  PrefixHash root(std::string_view model, std::string_view tenant) const;
  /** Of the block with these tokens that follows the block, or the root, of `before`. O(tokens). */
  PrefixHash next(const PrefixHash& before, std::span<const int32_t> tokens) const;
  /** Of any bytes. */
  PrefixHash hash(std::string_view bytes) const;

 private:
  Key key_;
};

}  // namespace octavo
