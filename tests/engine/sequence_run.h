#pragma once
// Sequences of a short nano that tests prefill and decode greedily, alone and in batches.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/model_runner.h"
#include "engine/pass_key_prompt.h"
#include "engine/prefill.h"
#include "engine/short_nano.h"

namespace longhaul::testing_support {

using Logits = std::vector<float>;

inline Sequence sequence_of(const std::string& spec, const KvType& type = {}) {
  SessionOptions options;
  options.attention = MethodSpec::parse(spec);
  options.chunk = 64;
  options.kv_type = type;
  return Sequence(short_nano(), options);
}

inline ModelRunner runner() { return ModelRunner(short_nano(), {}, Compute::kBest); }

inline Logits logits_of(const Sequence& sequence) {
  return {sequence.logits().begin(), sequence.logits().end()};
}

inline bool same_bits(const Logits& a, const Logits& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The last tokens are the instruction, for methods that need one.
inline PrefillHooks hooks_for(std::span<const int32_t> tokens) {
  PrefillHooks hooks;
  hooks.instruction = std::min<int64_t>(16, std::ssize(tokens) / 2);
  return hooks;
}

inline void read(Sequence& sequence, std::span<const int32_t> tokens, ModelRunner& with,
                 const std::function<void()>& yield = {}) {
  Prefill prefill(sequence, tokens, hooks_for(tokens));
  while (prefill.step(with, yield) == PrefillStep::kMore) {
  }
  ASSERT_EQ(prefill.done(), std::ssize(tokens));
}

inline int32_t likeliest(const Sequence& sequence) {
  return static_cast<int32_t>(std::ranges::max_element(sequence.logits()) -
                              sequence.logits().begin());
}

/// Logits after each of `count` tokens, which are decoded greedily.
inline std::vector<Logits> decode(Sequence& sequence, ModelRunner& with, int count) {
  std::vector<Logits> all;
  for (int i = 0; i < count; ++i) {
    with.decode(sequence, likeliest(sequence));
    all.push_back(logits_of(sequence));
  }
  return all;
}

}  // namespace longhaul::testing_support
