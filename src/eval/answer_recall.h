#pragma once
// Whether a method shows the model what it is asked for: the share of the answer's tokens in the
// text that the rows which choose the reply's tokens could see, layer by layer (as Ltri-LLM
// measures the recall of its look-ups, arXiv:2412.04757). A wrong reply at a high recall is the
// model's fault, at a low one the method's.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"
#include "eval/compose.h"

namespace longhaul {

/// The prompt's context as its tokens spell it.
struct ContextText {
  ContextText(const Tokenizer& tokenizer, const ComposedPrompt& prompt);

  /// Number, in the prompt, of the token that a byte of `text` belongs to.
  int64_t token_at(size_t byte) const;
  const TokenSpan& span_of(int64_t token) const {
    return spans[static_cast<size_t>(token - begin)];
  }

  int64_t begin;  ///< of the context, in the prompt
  std::vector<TokenSpan> spans;
  std::string text;
};

/// Tokens of the context that hold an answer, ascending. Empty where the answers are not
/// in the text word for word, are too short to mean this place (fewer than 3 bytes), or stand in
/// more than 256 tokens.
std::vector<int64_t> answer_tokens(const ContextText& context,
                                   std::span<const std::string> answers);
std::vector<int64_t> answer_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                   std::span<const std::string> answers);

class AnswerRecall {
 public:
  /// `prompt_tokens`: how many tokens the session holds when the prompt has been read. No token of
  /// the reply is chosen from rows before the prompt's last one, so they are not looked at.
  AnswerRecall(std::vector<int64_t> answer, int layers, int64_t prompt_tokens);

  /// For Session::observe.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// Per layer, 0..1: what at least one head saw, mean over the rows. Empty without an answer in
  /// the text or a row that was looked at.
  std::vector<double> by_layer() const;

 private:
  /// What has been seen in a layer; an attention call of a row may come in several parts.
  struct Layer {
    std::vector<bool> seen;  ///< by the row at hand
    int64_t row = -1;        ///< its position
    int64_t rows = 0;        ///< it and those before
    int64_t before = 0;      ///< tokens of the answer that rows before it saw, summed
  };
  void look(const LayerStep& step, const KeySegment& segment, int64_t position, Layer& layer) const;

  std::vector<int64_t> answer_;
  int64_t first_row_;
  std::vector<Layer> layers_;
};

}  // namespace longhaul
