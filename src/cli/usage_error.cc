#include "cli/usage_error.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/nearest_name.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Long names; one letter resembles every other.
std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> commands_of(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string unexpected_line(const CLI::App& app, const std::string& argument) {
  const std::string command = app.get_name() == "longhaul" ? "" : "longhaul " + app.get_name();
  if (argument.size() > 1 && argument[0] == '-') {
    const std::string flag = argument.substr(0, argument.find('='));
    std::string hint = flag.size() > 2 ? nearest_name_hint(flag, flags_of(app)) : "";
    if (hint.empty()) {
      hint = fmt::format(" (see '{}')", (command.empty() ? "longhaul" : command) + " --help");
    }
    return fmt::format("unknown flag {}{}", printable(flag), hint);
  }
  if (command.empty()) {
    const std::string hint = nearest_name_hint(argument, commands_of(app));
    return fmt::format("unknown command {}{}", printable(argument),
                       hint.empty() ? " (see 'longhaul --help')" : hint);
  }
  const std::string hint =
      app.get_name() == "run" ? "; quote the question and put -p before it" : "";
  return fmt::format("{}: unexpected argument {}{}", command, printable(argument), hint);
}

}  // namespace

std::string usage_error_line(const CLI::App& program, const CLI::ParseError& error) {
  const auto parsed = program.get_subcommands();
  const CLI::App& app = parsed.empty() ? program : *parsed.front();
  std::vector<std::string> left = app.remaining();
  if (left.empty()) left = program.remaining();
  if (!left.empty()) return unexpected_line(app, left.front());

  const std::string name = error.get_name();
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (name == "ArgumentMismatch") return what.substr(0, what.find(':')) + ": a value is missing";
  const std::string command =
      &app == &program ? std::string("longhaul") : "longhaul " + app.get_name();
  if (name == "RequiredError")
    return fmt::format("{}: {} (see '{} --help')", command, what, command);
  return what;
}

}  // namespace longhaul
