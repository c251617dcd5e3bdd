#pragma once
// Flags and commands of other programs, and their translation.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

enum class HabitKind : uint8_t {
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

struct Habit {
  std::string_view commands;  ///< commands that accept it
  std::string_view names;
  HabitKind kind;
  std::string_view text;
  std::string_view drops = "";
};
std::span<const Habit> flag_habits();

struct CommandHabit {
  std::string_view name;
  /// this program's command; empty: refused with `text`, otherwise `text` is a note
  std::string_view own;
  std::string_view flag;  ///< added flag
  std::string_view text;
};
std::span<const CommandHabit> command_habits();

/// A command of other chats, with any arguments: refused with `text`.
struct ChatHabit {
  std::string_view name, text;
};
std::span<const ChatHabit> chat_habits();

}  // namespace longhaul
