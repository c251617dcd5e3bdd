#pragma once
// Recognises, by their texts, the control tokens that begin or end a turn of a conversation. The
// rules are those of llama.cpp (src/llama-vocab.cpp), so that replies end at the same token in both
// programs.

#include <functional>
#include <string_view>

namespace longhaul {

/// Some texts mean different things in different vocabularies. The other tokens of the vocabulary
/// then determine the meaning.
class TurnMarks {
 public:
  /// `has_token` returns whether the vocabulary has a token with exactly this text.
  explicit TurnMarks(const std::function<bool(std::string_view)>& has_token);

  /// Returns whether generation stops at this token, such as `<|im_end|>`, `<|eot_id|>` or
  /// `<|return|>`.
  bool ends_reply(std::string_view text) const;

  /// Returns whether the token ends a message of a conversation. These are all tokens for which
  /// ends_reply() is true, and tokens such as `<|end|>`, which gpt-oss writes between its analysis
  /// and its answer.
  bool ends_message(std::string_view text) const;

  /// Returns whether the token begins or ends a turn. Such tokens are always treated as control
  /// tokens. Some model files declare them as ordinary tokens, which plain text may contain; a
  /// user's text could then end the user's turn and begin another.
  bool is_mark(std::string_view text) const;

  /// Returns whether the token does not end a reply in this vocabulary, although its text ends a
  /// turn in other vocabularies. It does not end a reply even if the model file names it as an end
  /// token.
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
