#pragma once
// Finds the retrieval heads of a model (Wu et al., arXiv:2404.15574). Ltri-LLM (arXiv:2412.04757)
// uses them. A retrieval head is a query head that attends to the text of the prompt that a reply
// copies. The answer to the question occurs in the prompt. A head copies a generated token if the
// key to which the head attends most is in this answer and belongs to the same token. Each copied
// token increases the score of the head by 1 / (number of tokens of the answer in the prompt).

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

/// Scores, [layer][query head]. A score is from 0 to (generated tokens) / (tokens of the answer in
/// the prompt).
using HeadScores = std::vector<std::vector<double>>;

/// Records the key to which each query head attends most, for each decoded token. Use it with
/// Session::observe of a session with dense attention. In layers that have a sliding window in the
/// model itself, only keys in the window are considered.
class StrongestKeys {
 public:
  explicit StrongestKeys(const ModelShape& shape);

  void observe(const LayerStep& step);
  /// Returns the position of the key to which a head attends most when it processes decoded token
  /// `row` (counted from 0).
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
  /// `answer` has the positions of the answer's tokens in the prompt, in ascending order. It must
  /// not be empty.
  CopyScore(std::span<const int32_t> prompt, std::span<const int64_t> answer);

  /// Returns the increase of a head's score by one generated token. `token` is this token.
  /// `strongest` is the position of the key to which the head attended most in the step that
  /// generated the token.
  double of(int64_t strongest, int32_t token) const;
  /// Adds the increases by all tokens of a reply to the scores of all heads. Token i of `reply` was
  /// sampled after the step that processed decoded token i.
  void add(const StrongestKeys& strongest, std::span<const int32_t> reply,
           HeadScores& scores) const;

 private:
  std::span<const int32_t> prompt_;
  std::span<const int64_t> answer_;
};

/// A streaming head of duo keeps only the first keys and the most recent keys; their numbers here
/// are duo's defaults. Returns whether it would have evicted the key at position `key` before the
/// token at `position` is processed.
bool beyond_streaming(int64_t key, int64_t position);

/// Settings of a search.
struct HeadSearch {
  std::vector<int64_t> lengths;  ///< lengths of prompt and reply together, in tokens
  /// Number of samples per length. Each has a question about a fact that is hidden in book text, at
  /// different depths.
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
  /// Share of the reply's tokens for which beyond_streaming() is true for the key to which the head
  /// attends most, over the counted replies. It serves to order heads that copy nothing.
  HeadScores distant;
  int asked = 0;  ///< number of replies
  /// Number of counted replies. A reply is counted if it contains more than half of the answer's
  /// words.
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
  /// Generates the reply to a prompt and adds the scores of the heads. `watch` is called for every
  /// layer of the prefill, which processes all tokens of the prompt except the last. Returns false
  /// if the run was cancelled, in which case nothing is added.
  bool ask(const Sample& sample, const ComposedPrompt& prompt,
           const std::function<void(const LayerStep&)>& watch = {});

  /// Returns the sums over the counted replies. means() divides them by the number of counted
  /// replies.
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
