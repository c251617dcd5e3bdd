#include "tokenizer/fingerprint.h"

#include <xxhash.h>

#include <array>
#include <string_view>

#include "tokenizer/tokenizer_model.h"

namespace longhaul {

namespace {

/// A chain of hashes: each item is hashed with the previous hash as its seed.
class Chain {
 public:
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    hash_ = XXH3_64bits_withSeed(value.data(), value.size(), hash_);
  }
  void number(int64_t value) { hash_ = XXH3_64bits_withSeed(&value, sizeof value, hash_); }
  void ids(const std::vector<int32_t>& values) {
    number(static_cast<int64_t>(values.size()));
    for (const int32_t id : values) number(id);
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0;
};

/// The pairs are unordered, so the result is the sum of their hashes.
uint64_t hash_of(const MergeTable& merges) {
  uint64_t sum = 0;
  merges.for_each([&sum](int32_t left, int32_t right, const Merge& merge) {
    const std::array<int32_t, 4> all = {left, right, merge.rank, merge.result};
    sum += XXH3_64bits(all.data(), sizeof all);
  });
  return sum;
}

void add_vocabulary(Chain& chain, const TokenizerModel& model) {
  for (size_t id = 0; id < model.vocabulary.size(); ++id) {
    const Token& token = model.vocabulary[static_cast<int32_t>(id)];
    chain.number(static_cast<int64_t>(token.kind));
    chain.text(token.bytes);
  }
  for (const AddedToken& token : model.added.tokens()) {
    chain.text(token.text);
    chain.number(token.id);
    chain.number(token.special * 4 + token.lstrip * 2 + token.rstrip);
  }
}

void add_steps(Chain& chain, const TokenizerModel& model) {
  for (const NormalizeStep& step : model.normalizer.steps()) {
    chain.number(static_cast<int64_t>(step.kind));
    chain.text(step.from);
    chain.text(step.to);
    chain.number(step.only_at_start);
  }
  for (const Split& split : model.pre_tokenizer.splits()) {
    chain.text(split.pattern.pattern());
    chain.number(static_cast<int64_t>(split.behaviour));
    chain.number(split.invert);
  }
}

void add_merges(Chain& chain, const MergeModel& merges) {
  chain.number(static_cast<int64_t>(merges.start));
  chain.number(merges.ignore_merges * 4 + merges.byte_fallback * 2 + merges.fuse_unknown);
  chain.number(merges.unknown);
  chain.number(static_cast<int64_t>(hash_of(merges.merges)));
}

}  // namespace

uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer) {
  const TokenizerModel& model = tokenizer.model();
  Chain chain;
  add_vocabulary(chain, model);
  add_steps(chain, model);
  add_merges(chain, model.merges);
  chain.ids(model.prefix);
  chain.ids(model.suffix);
  chain.ids(model.end_of_generation);
  chain.number(model.bos.value_or(-1));
  chain.number(model.drops_first_space);
  return chain.value();
}

}  // namespace longhaul
