#pragma once
// Control tokens that begin or end a turn of a conversation, found by their text. The rules follow
// llama.cpp's (src/llama-vocab.cpp), so that a model stops at the same token in both programs.

#include <functional>
#include <string_view>

namespace longhaul {

/// Some vocabularies give a text another meaning than most, so the marks depend on which other
/// tokens there are.
class TurnMarks {
 public:
  /// `has_token` tells whether the vocabulary has a token of exactly this text.
  explicit TurnMarks(const std::function<bool(std::string_view)>& has_token);

  /// Generation stops at this token: `<|im_end|>`, `<|eot_id|>`, `<|return|>`, ...
  bool ends_reply(std::string_view text) const;

  /// The token ends a message of a conversation. A superset of `ends_reply`: gpt-oss writes
  /// `<|end|>` behind its analysis and goes on with its answer.
  bool ends_message(std::string_view text) const;

  /// The token begins or ends a turn. Some files list such tokens as ordinary ones, which plain
  /// text may contain: a user's text could then end its turn and begin another.
  bool is_mark(std::string_view text) const;

  /// The text ends a turn in other vocabularies, and in this one it never does, even where the
  /// file names it.
  bool never_ends_reply(std::string_view text) const;

 private:
  bool channels_ = false;    ///< `<|end|>` closes one of several channels of a reply
  bool struck_out_ = false;  ///< `</s>` is a tag of HTML (Gemma 4)
  bool glm_ = false;         ///< a reply ends where the user or a tool begins
};

}  // namespace longhaul
