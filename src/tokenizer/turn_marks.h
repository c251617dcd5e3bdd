#pragma once
// Recognises, by their text, control tokens that begin or end a turn of a conversation. The rules
// follow llama.cpp (src/llama-vocab.cpp), so that a model stops at the same token in both programs.

#include <functional>
#include <string_view>

namespace longhaul {

/// In some vocabularies, a string does not have its usual meaning. The other tokens of the
/// vocabulary determine which tokens are marks.
class TurnMarks {
 public:
  /// `has_token` returns whether the vocabulary has a token with exactly this text.
  explicit TurnMarks(const std::function<bool(std::string_view)>& has_token);

  /// Returns whether generation stops at this token, such as `<|im_end|>`, `<|eot_id|>` or
  /// `<|return|>`.
  bool ends_reply(std::string_view text) const;

  /// Returns whether the token ends a message of a conversation. This includes all tokens for which
  /// ends_reply() is true. Another example is `<|end|>`, which gpt-oss writes after its analysis
  /// before it continues with its answer.
  bool ends_message(std::string_view text) const;

  /// Returns whether the token begins or ends a turn. Some model files mark such tokens as ordinary
  /// tokens, which plain text may contain. A user's text could then end its turn and begin another,
  /// so these tokens are treated as control tokens.
  bool is_mark(std::string_view text) const;

  /// Returns whether the text never ends a reply in this vocabulary, although it ends a turn in
  /// others. This holds even if the model file names it as an end token.
  bool never_ends_reply(std::string_view text) const;

 private:
  /// Whether `<|end|>` closes one of several channels of a reply, but not the reply.
  bool channels_ = false;
  /// Whether `</s>` is an HTML tag for struck-out text (Gemma 4) and not an end token.
  bool struck_out_ = false;
  /// Whether a reply ends at the token that begins a turn of the user or of a tool (GLM).
  bool glm_ = false;
};

}  // namespace longhaul
