#include "kv/prefix_hash.h"

#include <sys/random.h>
#include <sys/types.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace octavo {

namespace {

/** The state of SipHash-2-4; names and constants are the paper's. */
struct Sip {
  uint64_t v0, v1, v2, v3;
  size_t bytes = 0;

  explicit Sip(PrefixHasher::Key key)
      : v0(key.low ^ 0x736f6d6570736575),
        v1(key.high ^ 0x646f72616e646f6d ^ 0xee),  // 0xee: 128 bits of output are wanted
        v2(key.low ^ 0x6c7967656e657261),
        v3(key.high ^ 0x7465646279746573) {}

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void word(uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
    bytes += sizeof word;
  }

  /** The last 0 to 7 bytes, with the length modulo 256 above them. */
  void tail(const char* rest, size_t count) {
    uint64_t last = static_cast<uint64_t>(bytes + count) << 56;
    for (size_t index = 0; index < count; ++index) {
      last |= static_cast<uint64_t>(static_cast<unsigned char>(rest[index])) << (8 * index);
    }
    word(last);
  }

  uint64_t output(uint64_t mark, uint64_t& marked) {
    marked ^= mark;
    for (int turn = 0; turn < 4; ++turn) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }

  PrefixHash finish() {
    PrefixHash hash;
    hash.low = output(0xee, v2);
    hash.high = output(0xdd, v1);
    return hash;
  }
};

/** Two tokens a word, as they lie in memory. */
uint64_t wordOf(const int32_t* tokens) {
  return static_cast<uint32_t>(tokens[0]) | static_cast<uint64_t>(static_cast<uint32_t>(tokens[1])) << 32;
}

}  // namespace

/** std::random_device of a linked-in libstdc++ would ask for arc4random of glibc 2.36; getrandom is there since 2.25. */
PrefixHasher::Key PrefixHasher::randomKey() {
  std::array<uint64_t, 2> words;
  ssize_t taken = 0;
  do {
    taken = getrandom(words.data(), sizeof words, 0);
  } while (taken < 0 && errno == EINTR);
  if (taken != static_cast<ssize_t>(sizeof words)) {
    throw Error(ErrorCode::kInternal, "the system gave " + std::to_string(taken) + " of the " +
                                         std::to_string(sizeof words) + " random bytes that the prefix cache's key takes");
  }
  return {words[0], words[1]};
}

PrefixHash PrefixHasher::hash(std::string_view bytes) const {
  Sip sip(key_);
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    for (size_t index = 0; index < sizeof word; ++index) {
      word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[index])) << (8 * index);
    }
    sip.word(word);
    bytes.remove_prefix(sizeof word);
  }
  sip.tail(bytes.data(), bytes.size());
  return sip.finish();
}

/** The first length keeps ("ab", "c") and ("a", "bc") apart. */
PrefixHash PrefixHasher::root(std::string_view model, std::string_view tenant) const {
  std::string text = std::to_string(model.size()) + ":";
  text.append(model).append(tenant);
  return hash(text);
}

PrefixHash PrefixHasher::next(const PrefixHash& before, std::span<const int32_t> tokens) const {
  Sip sip(key_);
  sip.word(before.low);
  sip.word(before.high);
  size_t at = 0;
  for (; at + 2 <= tokens.size(); at += 2) sip.word(wordOf(&tokens[at]));
  char rest[sizeof(int32_t)];
  const size_t left = at < tokens.size() ? sizeof rest : 0;
  for (size_t index = 0; index < left; ++index) {
    rest[index] = static_cast<char>(static_cast<uint32_t>(tokens[at]) >> (8 * index));
  }
  sip.tail(rest, left);
  return sip.finish();
}

}  // namespace octavo
