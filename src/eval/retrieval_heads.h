#pragma once
// Finds retrieval heads, which are the query heads that attend to the text that the reply copies
// (Wu et al., arXiv:2404.15574). Ltri-LLM (arXiv:2412.04757) uses them. The score of a head grows
// with each generated token that it copies: the key with the most attention of the newest row is in
// the answer, and its token is the generated token. The growth is 1 / (number of tokens of the
// answer in the text).

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

/// Collects the keys to which each query head of the decoded tokens attends most. It is used with
/// Session::observe of a dense session. In layers with the model's own sliding window, only keys
/// within it count.
class StrongestKeys {
 public:
  explicit StrongestKeys(const ModelShape& shape);

  void observe(const LayerStep& step);
  /// Returns the key for decoded token `row` (from 0), as a position in the context.
  int32_t at(size_t row, size_t layer, size_t head) const {
    const auto layers = static_cast<size_t>(layers_), heads = static_cast<size_t>(heads_);
    return keys_[(row * layers + layer) * heads + head];
  }

 private:
  int layers_, heads_;
  std::vector<int32_t> keys_;  ///< [decoded tokens, layers, heads]
  Array<float> rotated_;
};

/// Computes the score of a head from the keys to which it attends.
class CopyScore {
 public:
  /// `answer`: positions of the answer's tokens in the prompt, ascending, at least one.
  CopyScore(std::span<const int32_t> prompt, std::span<const int64_t> answer);

  /// Returns the score of a row from which `token` was generated. `strongest` is the key with the
  /// most attention of the row.
  double of(int64_t strongest, int32_t token) const;
  /// Adds the scores of a whole reply; token i was generated from decoded token i.
  void add(const StrongestKeys& strongest, std::span<const int32_t> reply,
           HeadScores& scores) const;

 private:
  std::span<const int32_t> prompt_;
  std::span<const int64_t> answer_;
};

/// Returns whether a streaming head of duo would have evicted the key at `key` before a row at
/// `position`, with duo's default numbers of first and recent tokens.
bool beyond_streaming(int64_t key, int64_t position);

struct HeadSearch {
  std::vector<int64_t> lengths;  ///< tokens of a prompt and its reply
  int samples = 10;              ///< samples per length: facts at different depths of books
  uint64_t seed = 1;
  SessionOptions session;            ///< its method must be dense
  std::optional<ChatTemplate> chat;  ///< without one, prompts end with the reply's first words
  std::function<void(int done, int total)> progress;
  const CancelFlag* cancel = nullptr;
};

struct FoundHeads {
  HeadScores scores;  ///< mean over the counted replies
  /// Share of the tokens of the counted replies for which duo's streaming heads would have evicted
  /// the key with the most attention. It orders heads that copy nothing.
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

  /// Returns the prompt of the sample. If there is no chat template, it ends with the reply's first
  /// words.
  ComposedPrompt compose(const Sample& sample) const;
  const PromptComposer& composer() const { return composer_; }
  /// Runs the prompt. `watch` is called for every layer of the prompt before the last token.
  /// Returns false if cancelled; nothing is counted in that case.
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
