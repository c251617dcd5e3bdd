#pragma once
// Recall of a method: the share of the answer's tokens in the text that were visible to the rows
// which generate the reply, layer by layer (as Ltri-LLM measures the recall of its look-ups,
// arXiv:2412.04757). A wrong reply with a high recall is due to the model, one with a low recall to
// the method.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"
#include "eval/compose.h"

namespace longhaul {

/// The prompt's context as spelled by its tokens.
struct ContextText {
  ContextText(const Tokenizer& tokenizer, const ComposedPrompt& prompt);

  /// Position, in the prompt, of the token that contains a byte of `text`.
  int64_t token_at(size_t byte) const;
  const TokenSpan& span_of(int64_t token) const {
    return spans[static_cast<size_t>(token - begin)];
  }

  int64_t begin;  ///< first token of the context, in the prompt
  std::vector<TokenSpan> spans;
  std::string text;
};

/// Tokens of the context that contain an answer, ascending. Empty if the answers do not occur word
/// for word, are too short to identify a place (fewer than 3 bytes), or occupy more than 256
/// tokens.
std::vector<int64_t> answer_tokens(const ContextText& context,
                                   std::span<const std::string> answers);
std::vector<int64_t> answer_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                   std::span<const std::string> answers);

class AnswerRecall {
 public:
  /// `prompt_tokens` is the number of tokens in the session after prefill. The reply is generated
  /// only from rows from the prompt's last one on, so earlier rows are ignored.
  AnswerRecall(std::vector<int64_t> answer, int layers, int64_t prompt_tokens);

  /// For Session::observe.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// Per layer, 0..1: the share visible to at least one head, averaged over the rows. Empty without
  /// an answer in the text or without observed rows.
  std::vector<double> by_layer() const;

 private:
  /// The visibility in a layer; an attention call of a row may come in several parts.
  struct Layer {
    std::vector<bool> seen;  ///< tokens visible to the present row
    int64_t row = -1;        ///< position of the present row
    int64_t rows = 0;        ///< number of rows so far, including it
    int64_t before = 0;      ///< answer tokens visible to earlier rows, summed
  };
  void look(const LayerStep& step, const KeySegment& segment, int64_t position, Layer& layer) const;

  std::vector<int64_t> answer_;
  int64_t first_row_;
  std::vector<Layer> layers_;
};

}  // namespace longhaul
