#pragma once
// The table of flags and commands of other programs, with their translation.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

enum class CompatFlagKind : uint8_t {
  kSwitch,  ///< replaced by the flag in `text`
  /// Replaced by the flag in `text` with the same value. If text is empty, the bare value becomes
  /// the argument.
  kRename,
  /// Like kRename (empty text: the same name), but a value in `drops` is the default here and is
  /// removed.
  kUnless,
  kSideType,    ///< sets the type of keys or of values
  kFormat,      ///< json or md
  kNote,        ///< has no effect here; `text` explains it, or is empty if no note is needed
  kNoteValue,   ///< like kNote, for a flag that has a value
  kNoteSwitch,  ///< like kNote, for a flag whose value on, off, auto, 0 or 1 is optional
  kRefuse,      ///< rejected; `text` names an alternative, if there is one
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
  /// The command of this program. If it is empty, the other command is rejected with `text`;
  /// otherwise `text` is a note.
  std::string_view own;
  std::string_view flag;  ///< flag that is added
  std::string_view text;
};
std::span<const CommandCompatFlag> command_compat_flags();

/// A command inside the chats of other programs. It is rejected with `text`, whatever its
/// arguments.
struct ChatCompatFlag {
  std::string_view name, text;
};
std::span<const ChatCompatFlag> chat_compat_flags();

}  // namespace longhaul
