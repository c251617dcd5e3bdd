#pragma once
// Computes the recall of an attention method in each layer. The answer to a question occurs in the
// text of the prompt. The recall is the share of the answer's tokens in the prompt to whose keys
// the tokens of the reply can attend. If a reply is wrong although the recall is high, the model is
// the cause. If the recall is low, the method is the cause. Ltri-LLM measures the recall of its
// look-ups in the same way (arXiv:2412.04757).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"
#include "eval/compose.h"

namespace longhaul {

/// The context of a prompt (the document in which the answer occurs), decoded from the prompt's
/// tokens.
struct ContextText {
  ContextText(const Tokenizer& tokenizer, const ComposedPrompt& prompt);

  /// Returns the token that contains byte `byte` of `text`, as a position in the prompt.
  int64_t token_at(size_t byte) const;
  const TokenSpan& span_of(int64_t token) const {
    return spans[static_cast<size_t>(token - begin)];
  }

  int64_t begin;  ///< position of the context's first token in the prompt
  std::vector<TokenSpan> spans;
  std::string text;
};

/// Returns the positions of the context's tokens that contain one of `answers`, in ascending order.
/// The result is empty if no answer occurs word for word, if the answers are too short to identify
/// a place (fewer than 3 bytes), or if they occupy more than 256 tokens.
std::vector<int64_t> answer_tokens(const ContextText& context,
                                   std::span<const std::string> answers);
std::vector<int64_t> answer_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                   std::span<const std::string> answers);

class AnswerRecall {
 public:
  /// `answer` is the result of answer_tokens(). `prompt_tokens` is the number of tokens of the
  /// prompt. A row is the query of one token. Rows before the last token of the prompt are ignored,
  /// because no token of the reply is sampled from them.
  AnswerRecall(std::vector<int64_t> answer, int layers, int64_t prompt_tokens);

  /// Records to which keys the rows of a step can attend in one layer. Pass this function to
  /// Session::observe.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// Returns one number per layer: the share of the answer's tokens (0 to 1) to which at least one
  /// head can attend, averaged over the rows. The result is empty if `answer` is empty, or if no
  /// rows were observed.
  std::vector<double> by_layer() const;

 private:
  /// Counts of one layer. Several calls of observe() may belong to the same row, each with a part
  /// of its keys.
  struct Layer {
    std::vector<bool> seen;  ///< per answer token: whether the current row can attend to it
    int64_t row = -1;        ///< position of the current row
    int64_t rows = 0;        ///< number of rows so far, including the current one
    /// Number of answer tokens that a row can attend to, summed over the earlier rows.
    int64_t before = 0;
  };
  void look(const LayerStep& step, const KeySegment& segment, int64_t position, Layer& layer) const;

  std::vector<int64_t> answer_;
  int64_t first_row_;
  std::vector<Layer> layers_;
};

}  // namespace longhaul
