#pragma once
// Flags and commands of other programs, and their translation.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

enum class CompatFlagKind : uint8_t {
  kSwitch,  ///< the flag `text` has this effect
  /// the flag `text` has this effect, with the same value; "": the bare value is the argument
  kRename,
  kUnless,  ///< like kRename ("": the flag's own name), but values in `drops` are the default here
  kSideType,    ///< the type of keys or of values
  kFormat,      ///< json or md
  kNote,        ///< no effect here: `text` explains it; "": no note is needed
  kNoteValue,   ///< like kNote, for a flag with a value
  kNoteSwitch,  ///< like kNote, for a flag whose value on, off, auto, 0 or 1 is optional
  kRefuse,      ///< refused; `text` names the alternative, if any
};

struct CompatFlag {
  std::string_view commands;  ///< commands that accept it
  std::string_view names;
  CompatFlagKind kind;
  std::string_view text;
  std::string_view drops = "";
};
std::span<const CompatFlag> flag_compat_flags();

struct CommandCompatFlag {
  std::string_view name;
  /// this program's command; empty: refused with `text`, otherwise `text` is a note
  std::string_view own;
  std::string_view flag;  ///< added flag
  std::string_view text;
};
std::span<const CommandCompatFlag> command_compat_flags();

/// A command of other chats, with any arguments: refused with `text`.
struct ChatCompatFlag {
  std::string_view name, text;
};
std::span<const ChatCompatFlag> chat_compat_flags();

}  // namespace longhaul
