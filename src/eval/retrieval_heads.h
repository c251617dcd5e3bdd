#pragma once
// Retrieval heads: the query heads that attend to the text copied by the reply (Wu et al.,
// arXiv:2404.15574; Ltri-LLM, arXiv:2412.04757, selects its heads by them). For every generated
// token a head gains 1 / (tokens of the answer in the text) if the key to which the newest row
// attends most is that very token, inside the answer.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/cancel.h"
#include "engine/session.h"
#include "eval/compose.h"
#include "eval/data.h"
#include "tokenizer/chat_template.h"

namespace longhaul {

/// [layer][query head], from 0 to (generated tokens) / (tokens of the answer)
using HeadScores = std::vector<std::vector<double>>;

/// The keys to which each query head of the decoded tokens attends most; for Session::observe of a
/// dense session. In layers with the model's own sliding window, only keys within it count.
class StrongestKeys {
 public:
  explicit StrongestKeys(const ModelShape& shape);

  void observe(const LayerStep& step);
  /// The key for decoded token `row` (from 0), as a position in the context.
  int32_t at(size_t row, size_t layer, size_t head) const {
    const auto layers = static_cast<size_t>(layers_), heads = static_cast<size_t>(heads_);
    return keys_[(row * layers + layer) * heads + head];
  }

 private:
  int layers_, heads_;
  std::vector<int32_t> keys_;  ///< [decoded tokens, layers, heads]
  Array<float> rotated_;
};

/// Score of a head for the keys to which it attends.
class CopyScore {
 public:
  /// `answer`: positions of the answer's tokens in the prompt, ascending, at least one.
  CopyScore(std::span<const int32_t> prompt, std::span<const int64_t> answer);

  /// Score of a row that attended most to `strongest` when `token` was generated from it.
  double of(int64_t strongest, int32_t token) const;
  /// Adds the scores of a whole reply; token i was generated from decoded token i.
  void add(const StrongestKeys& strongest, std::span<const int32_t> reply,
           HeadScores& scores) const;

 private:
  std::span<const int32_t> prompt_;
  std::span<const int64_t> answer_;
};

/// Whether a row at `position` would no longer see the key at `key` in a streaming head of duo,
/// with duo's default numbers of first and recent tokens.
bool beyond_streaming(int64_t key, int64_t position);

struct HeadSearch {
  std::vector<int64_t> lengths;  ///< tokens of a prompt and its reply
  int samples = 10;              ///< samples per length: facts at as many depths of books
  uint64_t seed = 1;
  SessionOptions session;            ///< its method must be dense
  std::optional<ChatTemplate> chat;  ///< without one, prompts end with the reply's first words
  std::function<void(int done, int total)> progress;
  const CancelFlag* cancel = nullptr;
};

struct FoundHeads {
  HeadScores scores;  ///< mean over the counted replies
  /// Share of the tokens of these replies for which the key with most attention is no longer
  /// visible to duo's streaming heads. It distinguishes heads that copy nothing.
  HeadScores distant;
  int asked = 0;
  int counted = 0;  ///< replies with more than half of the answers' words
  bool finished = false;
};

/// Accumulates the scores of one model's heads, reply by reply.
class HeadCount {
 public:
  /// Uses `session`, `chat` and `cancel` of a search, which must outlive this object.
  HeadCount(std::shared_ptr<const Engine> engine, const HeadSearch& search);

  /// The prompt of the sample: with the reply's first words if there is no chat template.
  ComposedPrompt compose(const Sample& sample) const;
  const PromptComposer& composer() const { return composer_; }
  /// Runs the prompt. `watch` sees every layer of the prompt before its last token. Returns false
  /// if cancelled; nothing has then been counted.
  bool ask(const Sample& sample, const ComposedPrompt& prompt,
           const std::function<void(const LayerStep&)>& watch = {});

  const FoundHeads& sums() const { return sums_; }  ///< scores are sums over the replies
  void set_sums(FoundHeads sums) { sums_ = std::move(sums); }
  FoundHeads means() const;

 private:
  void add_distant(const StrongestKeys& strongest, int64_t position, size_t rows);

  std::shared_ptr<const Engine> engine_;
  const HeadSearch& search_;
  PromptComposer composer_;
  FoundHeads sums_;
};

/// Runs the task `fact` at every length. Throws UserError if a length is too short for it.
FoundHeads find_retrieval_heads(const std::shared_ptr<const Engine>& engine, const EvalData& data,
                                const HeadSearch& search);

}  // namespace longhaul
