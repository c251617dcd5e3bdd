#include "cli/compat_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"
#include "cli/compat_flag_table.h"
#include "cli/flag_scan.h"
#include "cli/usage_error.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Whether `name` is one of the words in `list`.
bool is_among(std::string_view name, std::string_view list) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

const CompatFlag* compat_flag_of(std::string_view command, std::string_view flag) {
  for (const CompatFlag& compat_flag : flag_compat_flags()) {
    if (is_among(command, compat_flag.commands) && is_among(flag, compat_flag.names))
      return &compat_flag;
  }
  return nullptr;
}

/// Whether an argument can be a switch's optional value: -fa, -fa on.
bool is_switch_value(std::string_view argument) { return is_among(argument, "on off auto 0 1"); }

/// A file, but no flag, no model, and no word of a question that happens to be a file's name.
bool looks_like_text_file(const std::string& argument) {
  return !argument.starts_with('-') && argument.find_first_of("./") != std::string::npos &&
         !argument.ends_with(".gguf") && is_file(argument);
}

class Translator {
 public:
  Translator(const CLI::App& app, std::string command, std::span<const std::string> arguments)
      : app_(app), command_(std::move(command)), arguments_(arguments) {}

  void translate(OwnArguments& own) {
    for (; at_ < arguments_.size(); ++at_) {
      const std::string& argument = arguments_[at_];
      if (argument == "--") {
        own.arguments.insert(own.arguments.end(), arguments_.begin() + static_cast<long>(at_),
                             arguments_.end());
        return;
      }
      const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
      if (const CompatFlag* compat_flag = compat_flag_of(command_, argument.substr(0, equals));
          compat_flag != nullptr) {
        apply(*compat_flag, equals, own);
      } else {
        keep(argument, own);
      }
    }
  }

 private:
  void keep(const std::string& argument, OwnArguments& own) {
    // The parser would read -hx as -h, and help with exit status 0 would hide a wrong flag.
    if (argument.size() > 2 && argument.starts_with("-h")) {
      user_error("unknown flag {} (see 'longhaul {} --help')", printable(argument), command_);
    }
    // Numbers that begin with letters are ambiguous too: -cb, -to.
    if (argument.size() > 2 && is_among(argument.substr(0, 2), "-c -n -t") &&
        std::isalpha(static_cast<unsigned char>(argument[2])) != 0) {
      user_error("unknown flag {} (see 'longhaul {} --help')", printable(argument), command_);
    }
    own.arguments.push_back(argument);
    const FlagWithValue flag = flag_with_value(app_, argument);
    const bool value_follows = flag.option != nullptr && flag.rest.empty();
    if (value_follows && at_ + 1 < arguments_.size()) own.arguments.push_back(arguments_[++at_]);
    if (flag.option != nullptr && flag.option->check_name("--file")) keep_further_files(own);
  }

  /// -f a.txt b.txt: files behind a file are texts too, where several may be given.
  void keep_further_files(OwnArguments& own) {
    if (command_ != "run") return;
    while (at_ + 1 < arguments_.size() && looks_like_text_file(arguments_[at_ + 1])) {
      own.arguments.emplace_back("-f");
      own.arguments.push_back(arguments_[++at_]);
    }
  }

  /// The flag's value, after '=' or in the next argument.
  std::string value(size_t equals) {
    const std::string& argument = arguments_[at_];
    if (equals != std::string::npos) return argument.substr(equals + 1);
    if (at_ + 1 == arguments_.size()) user_error("{}: a value is missing", argument);
    return arguments_[++at_];
  }

  void apply(const CompatFlag& compat_flag, size_t equals, OwnArguments& own) {
    const std::string flag = arguments_[at_].substr(0, equals);
    const auto add = [&own](std::string argument) { own.arguments.push_back(std::move(argument)); };
    switch (compat_flag.kind) {
      case CompatFlagKind::kRefuse:
        user_error("{}: {}", flag, compat_flag.text);
      case CompatFlagKind::kSwitch:
        add(std::string(compat_flag.text));
        return;
      case CompatFlagKind::kRename: {
        const std::string given = value(equals);
        if (!compat_flag.text.empty()) add(std::string(compat_flag.text));
        add(given);
        return;
      }
      case CompatFlagKind::kUnless: {
        const std::string given = value(equals);
        if (is_among(given, compat_flag.drops)) return;
        add(compat_flag.text.empty() ? flag : std::string(compat_flag.text));
        add(given);
        return;
      }
      case CompatFlagKind::kSideType:
        side_type(flag, value(equals), own);
        return;
      case CompatFlagKind::kFormat: {
        const std::string given = value(equals);
        if (given == "json") return add("--json");
        if (given != "md") user_error("{} {}: there is a table, or --json", flag, given);
        return;
      }
      case CompatFlagKind::kNote:
      case CompatFlagKind::kNoteValue:
      case CompatFlagKind::kNoteSwitch:
        if (compat_flag.kind == CompatFlagKind::kNoteValue) value(equals);
        if (compat_flag.kind == CompatFlagKind::kNoteSwitch && equals == std::string::npos &&
            at_ + 1 < arguments_.size() && is_switch_value(arguments_[at_ + 1])) {
          ++at_;
        }
        if (!compat_flag.text.empty())
          own.notes.push_back(fmt::format("{}: {}", flag, compat_flag.text));
        return;
    }
  }

  /// Sets the type of keys or of values. Only the last --kv-type counts, so it repeats the type
  /// given earlier.
  void side_type(const std::string& flag, const std::string& type, OwnArguments& own) {
    (flag.back() == 'k' ? key_type_ : value_type_) = type;
    std::string both = key_type_.empty() ? "" : "k=" + key_type_;
    if (!value_type_.empty()) both += (both.empty() ? "v=" : ",v=") + value_type_;
    own.arguments.insert(own.arguments.end(), {"--kv-type", both});
  }

  const CLI::App& app_;
  std::string command_;
  std::span<const std::string> arguments_;
  size_t at_ = 0;
  std::string key_type_, value_type_;  ///< as given so far
};

/// Renames the command itself, from ollama's names.
void rename_command(std::vector<std::string>& arguments, std::vector<std::string>& notes) {
  for (const CommandCompatFlag& compat_flag : command_compat_flags()) {
    if (arguments.front() != compat_flag.name) continue;
    if (compat_flag.own.empty()) user_error("{}: {}", compat_flag.name, compat_flag.text);
    if (!compat_flag.text.empty())
      notes.push_back(fmt::format("{}: {}", compat_flag.name, compat_flag.text));
    arguments.front() = compat_flag.own;
    if (!compat_flag.flag.empty())
      arguments.insert(arguments.begin() + 1, std::string(compat_flag.flag));
    return;
  }
}

}  // namespace

OwnArguments in_own_words(const CLI::App& program, std::span<const char* const> given) {
  std::vector<std::string> arguments(given.begin(), given.end());
  OwnArguments own;
  if (arguments.empty()) return own;
  if (find_command(program, arguments.front()) == nullptr) rename_command(arguments, own.notes);
  const std::string command = arguments.front();
  const CLI::App* app = find_command(program, command);
  if (app == nullptr) {                                     // refused later by the parser
    if (command.size() > 2 && command.starts_with("-h")) {  // the parser would show help
      user_error("{}: a command comes first, as in longhaul run -hf OWNER/REPO -p QUESTION",
                 printable(command));
    }
    own.arguments = std::move(arguments);
    return own;
  }
  own.arguments.push_back(command);
  Translator(*app, command, std::span(arguments).subspan(1)).translate(own);
  return own;
}

}  // namespace longhaul
