#pragma once
// The flags and commands of other programs, and what becomes of each.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

enum class HabitKind : uint8_t {
  kSwitch,     ///< the flag `text` does it
  kRename,     ///< the flag `text` does it, with the same value; "": the bare value does
  kUnless,     ///< as kRename ("": the flag's own name), but values of `drops` are the default here
  kSideType,   ///< the type of keys or of values
  kFormat,     ///< json or md
  kNote,       ///< does nothing here: `text` says why; "": nobody need be told
  kNoteValue,  ///< the same of a flag with a value
  kNoteSwitch,  ///< the same of one whose value on, off, auto, 0 or 1 may be left out
  kRefuse,      ///< `text` says what does it here, if anything
};

struct Habit {
  std::string_view commands;  ///< where it is taken
  std::string_view names;
  HabitKind kind;
  std::string_view text;
  std::string_view drops = "";
};
std::span<const Habit> flag_habits();

struct CommandHabit {
  std::string_view name;
  std::string_view own;   ///< the command; empty: refused with `text`, else a note
  std::string_view flag;  ///< goes with it
  std::string_view text;
};
std::span<const CommandHabit> command_habits();

/// A command of their chats, whatever follows it: refused with `text`.
struct ChatHabit {
  std::string_view name, text;
};
std::span<const ChatHabit> chat_habits();

}  // namespace longhaul
