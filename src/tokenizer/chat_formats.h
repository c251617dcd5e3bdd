#pragma once
// Chat formats as data: what stands around each message. `{bos}` and `{eos}` stand for the model's
// tokens of that name, `{date}` for the date that its template takes when it is given no clock.
// Sources: the models' published chat templates.

#include <span>
#include <string_view>

namespace longhaul {

struct ChatFormat {
  /// Where a system message goes.
  enum class System {
    own_turn,
    always,      ///< own turn, written even when there is no message
    first_user,  ///< before the first user message, in its turn
    last_user,   ///< before the last user message, in its turn
    none,        ///< the template refuses or drops it
  };
  /// Which white space around contents the template takes away.
  enum class Trim { none, all, replies };

  std::string_view name;
  std::string_view begin;  ///< once, before everything
  System system;
  std::string_view system_before, system_after;
  std::string_view user_before, user_after;
  std::string_view generation_prompt;  ///< what makes the model reply
  std::string_view reply_before;       ///< before a reply that is already there
  std::string_view reply_gap;          ///< between a reply that is already there and its end
  std::string_view reply_end;          ///< the token with which the model ends its turn
  std::string_view reply_tail;         ///< between that token and the next turn
  std::string_view finish;             ///< at the end when no reply is asked for
  Trim trim;
  bool alternates;                  ///< user and assistant must take turns, the user first
  bool drops_thinking;              ///< replies are kept without what stands before `</think>`
  std::string_view default_system;  ///< written when the conversation has no system message
  std::string_view bos, eos;        ///< when the model does not say
};

std::span<const ChatFormat> chat_formats();
/// Null when there is none of that name.
const ChatFormat* find_chat_format(std::string_view name);

}  // namespace longhaul
