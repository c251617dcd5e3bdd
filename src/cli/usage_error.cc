#include "cli/usage_error.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/nearest_name.h"
#include "cli/document_word.h"
#include "cli/flag_scan.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Long names only, because one letter is similar to every other.
std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

std::string unexpected_line(const CLI::App& app, const std::string& argument) {
  const std::string command = app.get_name() == "longhaul" ? "" : "longhaul " + app.get_name();
  if (argument.size() > 1 && argument[0] == '-') {
    const std::string flag = argument.substr(0, argument.find('='));
    std::string hint = flag.size() > 2 ? nearest_name_hint(flag, flags_of(app)) : "";
    if (hint.empty() && command.empty()) {
      hint = " (a command comes first, as in longhaul run -m MODEL -f FILE -p QUESTION)";
    }
    if (hint.empty()) {
      hint = fmt::format(" (see '{} --help')", command);
    }
    return fmt::format("unknown flag {}{}", printable(flag), hint);
  }
  if (command.empty()) return unknown_command_line(app, argument);
  if (app.get_name() != "run" && is_document_file(argument)) {
    return fmt::format("{}: {} is a document: {}", command, printable(argument),
                       document_advice(argument));
  }
  std::string hint;
  if (app.get_name() == "run") {
    hint = "; put -p before the question, in quotes, and -f before each text";
  } else if (app.get_name() == "serve") {
    hint = "; put -m before the model";
  }
  return fmt::format("{}: unexpected argument {}{}", command, printable(argument), hint);
}

/// `what` is such as "--sources = many". Options check their values themselves, so that only flags
/// cause this error, and --sources is the only flag with a number.
std::string conversion_line(const std::string& what) {
  const size_t equals = std::min(what.find(" = "), what.size());
  const std::string flag = what.substr(0, equals);
  const std::string value = what.substr(std::min(equals + 3, what.size()));
  if (flag == "--sources") {
    return fmt::format("{}={}: give a number, as in {}=3", flag, printable(value), flag);
  }
  return fmt::format("{}={}: the flag takes no value", flag, printable(value));
}

}  // namespace

const CLI::App* find_command(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : commands_of(program)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::string unknown_command_line(const CLI::App& program, const std::string& name) {
  if (is_document_file(name)) {
    return fmt::format("{} is a document, not a command: {}", printable(name),
                       document_advice(name));
  }
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(program)) names.push_back(command->get_name());
  const std::string hint = nearest_name_hint(name, names);
  return fmt::format("unknown command {}{}", printable(name),
                     hint.empty() ? " (see 'longhaul --help')" : hint);
}

std::string equals_problem(const CLI::App& program, std::span<const std::string> arguments) {
  const CLI::App* app = arguments.empty() ? nullptr : find_command(program, arguments[0]);
  if (app == nullptr) return "";
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") return "";
    if (argument.size() < 2 || argument[0] != '-') continue;
    const bool is_long = argument[1] == '-';
    const FlagWithValue flag = flag_with_value(*app, argument);
    if (flag.option == nullptr) continue;
    if (is_long && argument.ends_with('=') && flag.rest.empty()) {
      return fmt::format("{}: the value is missing", argument);
    }
    if (!is_long && flag.rest.starts_with('=')) {
      return fmt::format("{}: a flag of one letter takes its value without '=', as in {} {}",
                         printable(argument), flag.name, flag.option->get_type_name());
    }
    if (flag.rest.empty()) ++i;  // the next argument is the value, in any form
  }
  return "";
}

std::string usage_error_line(const CLI::App& program, const CLI::ParseError& error) {
  const auto parsed = program.get_subcommands();
  const CLI::App& app = parsed.empty() ? program : *parsed.front();
  std::vector<std::string> left = app.remaining();
  if (left.empty()) left = program.remaining();
  if (!left.empty()) return unexpected_line(app, left.front());

  const std::string name = error.get_name();
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (name == "ArgumentMismatch") {
    const size_t colon = std::min(what.find(':'), what.size());
    const bool too_many = what.compare(colon, 10, ": At Most ") == 0;
    return what.substr(0, colon) +
           (too_many ? ": is given more than once" : ": a value is missing");
  }
  constexpr std::string_view kNoConversion = "Could not convert: ";
  if (name == "ConversionError" && what.starts_with(kNoConversion)) {
    return conversion_line(what.substr(kNoConversion.size()));
  }
  const std::string command =
      &app == &program ? std::string("longhaul") : "longhaul " + app.get_name();
  if (name == "RequiredError")
    return fmt::format("{}: {} (see '{} --help')", command, what, command);
  return what;
}

}  // namespace longhaul
