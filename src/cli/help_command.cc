// longhaul help: the output of --help as a command.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/usage_error.h"

namespace longhaul {
namespace {

std::string help_on(const CLI::App& program, const std::string& command) {
  if (command.empty()) {  // App::help() would describe the parsed command, which is this one
    return program.get_formatter()->make_help(&program, program.get_name(),
                                              CLI::AppFormatMode::Normal);
  }
  const CLI::App* app = find_command(program, command);
  if (app == nullptr) user_error("{}", unknown_command_line(program, command));
  return app->help(program.get_name());
}

}  // namespace

Command add_help_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("help", "Show this list, or a command's flags");
  auto command = std::make_shared<std::string>();
  app->add_option("COMMAND", *command, "The command")->type_name("");
  app->footer("Example:\n  longhaul help run");
  return {app, [&program, command] {
            std::fputs(help_on(program, *command).c_str(), stdout);
            return kExitOk;
          }};
}

}  // namespace longhaul
