#pragma once
// Finds retrieval heads. They are the query heads that attend to the text which the reply copies
// (Wu et al., arXiv:2404.15574). Ltri-LLM (arXiv:2412.04757) uses them. A head copies a generated
// token if the key to which it attends most is in the answer and has the same token. Each copied
// token increases the score of the head by 1 / (number of tokens of the answer in the text).

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

/// Scores, [layer][query head]. A score is from 0 to (generated tokens) / (tokens of the answer).
using HeadScores = std::vector<std::vector<double>>;

/// Records the key to which each query head attends most, for each decoded token. Use it with
/// Session::observe of a session with dense attention. In layers that have a sliding window in the
/// model itself, only keys in the window are considered.
class StrongestKeys {
 public:
  explicit StrongestKeys(const ModelShape& shape);

  void observe(const LayerStep& step);
  /// Returns the position in the context of the key for decoded token `row` (counted from 0).
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
  /// `answer` holds the positions of the answer's tokens in the prompt, ascending. It must not be
  /// empty.
  CopyScore(std::span<const int32_t> prompt, std::span<const int64_t> answer);

  /// Returns the increase of the score by one row. `token` is the token that was generated from the
  /// row, and `strongest` is the key to which the row attends most.
  double of(int64_t strongest, int32_t token) const;
  /// Adds the scores of a whole reply. Token i of `reply` was generated from decoded token i.
  void add(const StrongestKeys& strongest, std::span<const int32_t> reply,
           HeadScores& scores) const;

 private:
  std::span<const int32_t> prompt_;
  std::span<const int64_t> answer_;
};

/// Returns whether a streaming head of duo would have evicted the key at position `key` before the
/// row at `position`. The numbers of first and recent tokens are duo's defaults.
bool beyond_streaming(int64_t key, int64_t position);

/// Settings of a search.
struct HeadSearch {
  std::vector<int64_t> lengths;  ///< tokens of a prompt and its reply together
  /// Number of samples per length; they ask for facts at different depths of books.
  int samples = 10;
  uint64_t seed = 1;
  SessionOptions session;  ///< the method must be dense attention
  /// Chat template; none: prompts are bare text and end with the first words of the reply.
  std::optional<ChatTemplate> chat;
  std::function<void(int done, int total)> progress;
  const CancelFlag* cancel = nullptr;
};

struct FoundHeads {
  HeadScores scores;  ///< mean over the counted replies
  /// Share of the reply tokens for which a streaming head of duo would have evicted the key with
  /// the most attention. Only counted replies are included. It orders heads that copy nothing.
  HeadScores distant;
  int asked = 0;  ///< number of replies
  /// Number of replies that contain more than half of the answers' words; only these are used.
  int counted = 0;
  bool finished = false;
};

/// Accumulates the scores of a model's heads, reply by reply.
class HeadCount {
 public:
  /// Uses `session`, `chat` and `cancel` of `search`. `search` must outlive this object.
  HeadCount(std::shared_ptr<const Engine> engine, const HeadSearch& search);

  /// Returns the prompt of a sample. If there is no chat template, it ends with the first words of
  /// the reply.
  ComposedPrompt compose(const Sample& sample) const;
  const PromptComposer& composer() const { return composer_; }
  /// Runs a prompt and adds its scores. `watch` is called for every layer of the prompt's prefill.
  /// The last token of the prompt is not included. Returns false if the run was cancelled; nothing
  /// is added then.
  bool ask(const Sample& sample, const ComposedPrompt& prompt,
           const std::function<void(const LayerStep&)>& watch = {});

  /// Returns sums; `scores` are not yet divided by the number of replies.
  const FoundHeads& sums() const { return sums_; }
  void set_sums(FoundHeads sums) { sums_ = std::move(sums); }
  FoundHeads means() const;

 private:
  void add_distant(const StrongestKeys& strongest, int64_t position, size_t rows);

  std::shared_ptr<const Engine> engine_;
  const HeadSearch& search_;
  PromptComposer composer_;
  FoundHeads sums_;
};

/// Runs the task `fact` at every length. Throws UserError if a length is too short for the task.
FoundHeads find_retrieval_heads(const std::shared_ptr<const Engine>& engine, const EvalData& data,
                                const HeadSearch& search);

}  // namespace longhaul
