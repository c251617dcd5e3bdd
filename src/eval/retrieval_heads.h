#pragma once
// Retrieval heads: the query heads that look at what the reply copies from the text (Wu et al.,
// arXiv:2404.15574; Ltri-LLM, arXiv:2412.04757, chooses its heads by them). For every generated
// token a head gains 1 / (tokens of the answer in the text) when the key that the newest row
// attends to most holds that very token, inside the answer.

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

/// The keys that each query head of the decoded tokens attends to most; for Session::observe of a
/// dense session. In layers with a sliding window of the model's own, of the keys in it.
class StrongestKeys {
 public:
  explicit StrongestKeys(const ModelShape& shape);

  void observe(const LayerStep& step);
  /// Of the decoded token `row`, the first of them 0: its place in the context.
  int32_t at(size_t row, size_t layer, size_t head) const {
    const auto layers = static_cast<size_t>(layers_), heads = static_cast<size_t>(heads_);
    return keys_[(row * layers + layer) * heads + head];
  }

 private:
  int layers_, heads_;
  std::vector<int32_t> keys_;  ///< [decoded tokens, layers, heads]
  Array<float> rotated_;
};

/// What a head gains by what it looked at.
class CopyScore {
 public:
  /// `answer`: places of the answer's tokens in the prompt, ascending, at least one.
  CopyScore(std::span<const int32_t> prompt, std::span<const int64_t> answer);

  /// By a row that looked at `strongest` most when `token` was generated from it.
  double of(int64_t strongest, int32_t token) const;
  /// By a whole reply, whose token i was generated from the decoded token i.
  void add(const StrongestKeys& strongest, std::span<const int32_t> reply,
           HeadScores& scores) const;

 private:
  std::span<const int32_t> prompt_;
  std::span<const int64_t> answer_;
};

/// Whether a row at `position` would no longer see the key at `key` in a head of duo that streams,
/// with the first tokens and the recent ones that duo keeps by default.
bool beyond_streaming(int64_t key, int64_t position);

struct HeadSearch {
  std::vector<int64_t> lengths;  ///< tokens of a prompt and its reply
  int samples = 10;              ///< of every length: facts at as many depths of books
  uint64_t seed = 1;
  SessionOptions session;            ///< its method is dense
  std::optional<ChatTemplate> chat;  ///< without one, prompts end with the reply's first words
  std::function<void(int done, int total)> progress;
  const CancelFlag* cancel = nullptr;
};

struct FoundHeads {
  HeadScores scores;  ///< mean over the replies that count
  /// Share of the same replies' tokens for which the key that the head attends to most is none that
  /// duo's streaming heads would still see: tells heads apart that copy nothing.
  HeadScores distant;
  int asked = 0;
  int counted = 0;  ///< of them, with more than half of the answers' words in the reply
  bool finished = false;
};

/// The heads of one model, reply by reply.
class HeadCount {
 public:
  /// `session`, `chat` and `cancel` of a search are looked at, and must outlive this.
  HeadCount(std::shared_ptr<const Engine> engine, const HeadSearch& search);

  /// A prompt of the sample as it is to be asked: with the reply's first words where there is no
  /// chat template.
  ComposedPrompt compose(const Sample& sample) const;
  const PromptComposer& composer() const { return composer_; }
  /// Asks it. `watch` sees every layer of the prompt before its last token. False when it was
  /// cancelled: nothing has been counted then.
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

/// Asks the task `fact` at every length. Throws UserError where a length is too short for it.
FoundHeads find_retrieval_heads(const std::shared_ptr<const Engine>& engine, const EvalData& data,
                                const HeadSearch& search);

}  // namespace longhaul
