#pragma once
// Lists flags and commands of other programs (llama.cpp and ollama), and how cli/compat_flags.h
// translates each of them.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

enum class CompatFlagKind : uint8_t {
  kSwitch,  ///< replaced by the flag in `text`
  /// Replaced by the flag in `text` with the same value. If `text` is empty, the flag is removed
  /// and its value remains as an argument.
  kRename,
  /// Like kRename, but the flag is removed if its value is one of `drops`, because such a value is
  /// the default of this program. If `text` is empty, the flag keeps its name.
  kUnless,
  /// A flag that sets the type of keys or of values, such as llama.cpp's --cache-type-k.
  kSideType,
  kFormat,      ///< a flag that sets the output format, json or md
  kNote,        ///< removed, because it has no effect here; `text` is a note for the user, or empty
  kNoteValue,   ///< like kNote, for a flag that has a value
  kNoteSwitch,  ///< like kNote, for a flag that may have one of the values on, off, auto, 0 and 1
  kRefuse,      ///< rejected with an error; `text` names an alternative, if there is one
};

struct CompatFlag {
  std::string_view commands;  ///< commands that accept the flag
  std::string_view names;
  CompatFlagKind kind;
  std::string_view text;
  std::string_view drops = "";
};
std::span<const CompatFlag> flag_compat_flags();

struct CommandCompatFlag {
  std::string_view name;
  /// The corresponding command of this program. If it is empty, the command is rejected with the
  /// message `text`. Otherwise `text` is a note for the user.
  std::string_view own;
  std::string_view flag;  ///< flag that is added to the command
  std::string_view text;
};
std::span<const CommandCompatFlag> command_compat_flags();

/// A command that users can enter in the chats of other programs, such as "/set". Longhaul's chat
/// rejects it with the message `text`, whatever its arguments are.
struct ChatCompatFlag {
  std::string_view name, text;
};
std::span<const ChatCompatFlag> chat_compat_flags();

}  // namespace longhaul
