#pragma once
// Computes the recall of a method in each layer. The recall is the share of the answer's tokens in
// the text that are visible to the rows which generate the reply. Ltri-LLM measures the recall of
// its look-ups in the same way (arXiv:2412.04757). If a reply is wrong although the recall is high,
// the cause is the model. If the recall is low, the cause is the method.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"
#include "eval/compose.h"

namespace longhaul {

/// The text of the prompt's context, decoded from its tokens.
struct ContextText {
  ContextText(const Tokenizer& tokenizer, const ComposedPrompt& prompt);

  /// Returns the position in the prompt of the token that contains a byte of `text`.
  int64_t token_at(size_t byte) const;
  const TokenSpan& span_of(int64_t token) const {
    return spans[static_cast<size_t>(token - begin)];
  }

  int64_t begin;  ///< first token of the context, in the prompt
  std::vector<TokenSpan> spans;
  std::string text;
};

/// Returns the tokens of the context that contain an answer, in ascending order. The result is
/// empty if the answers do not occur word for word, are too short to identify a place (fewer than 3
/// bytes), or occupy more than 256 tokens.
std::vector<int64_t> answer_tokens(const ContextText& context,
                                   std::span<const std::string> answers);
std::vector<int64_t> answer_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                   std::span<const std::string> answers);

class AnswerRecall {
 public:
  /// `prompt_tokens` is the number of tokens in the session after prefill. Rows before the last row
  /// of the prompt are ignored, because they generate no part of the reply.
  AnswerRecall(std::vector<int64_t> answer, int layers, int64_t prompt_tokens);

  /// Records the attention of a step. Pass it to Session::observe.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// Returns one value per layer: the share of the answer's tokens (0 to 1) that are visible to at
  /// least one head, averaged over the rows. The result is empty if the text does not contain the
  /// answer, or if no rows were observed.
  std::vector<double> by_layer() const;

 private:
  /// Counts of one layer. A method may attend to the keys of one row in several calls of observe().
  struct Layer {
    std::vector<bool> seen;  ///< per answer token: whether it is visible to the current row
    int64_t row = -1;        ///< position of the current row
    int64_t rows = 0;        ///< number of rows so far, including the current one
    int64_t before = 0;      ///< number of visible answer tokens, summed over the earlier rows
  };
  void look(const LayerStep& step, const KeySegment& segment, int64_t position, Layer& layer) const;

  std::vector<int64_t> answer_;
  int64_t first_row_;
  std::vector<Layer> layers_;
};

}  // namespace longhaul
