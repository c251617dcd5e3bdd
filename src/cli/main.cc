// The program `longhaul`: wires the subcommands and turns every failure into one line and an exit
// status.

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <new>
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "cli/usage_error.h"

namespace longhaul {
namespace {

int fail(const std::string& line) {
  std::fprintf(stderr, "error: %s\n", line.c_str());
  return kExitUserError;
}

int run_program(int argc, char** argv) {
  CLI::App program("Longhaul: answers questions about very long texts, on the CPU.", "longhaul");
  program.set_version_flag("--version", "longhaul " LONGHAUL_VERSION);
  program.footer(
      "'longhaul COMMAND --help' shows a command's flags and an example.\n"
      "Example: longhaul run -m nano -f book.txt -p 'What is the pass key?'");
  program.get_formatter()->column_width(34);
  program.require_subcommand(0, 1);  // a folder or a text may be named as a second one
  const std::array commands = {
      add_run_command(program),      add_perplexity_command(program), add_bench_command(program),
      add_eval_command(program),     add_report_command(program),     add_inspect_command(program),
      add_tokenize_command(program), add_methods_command(program),    add_models_command(program),
      add_pull_command(program),
  };
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    return fail(usage_error_line(program, error));
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  std::fputs(program.help().c_str(), stdout);
  return kExitOk;
}

}  // namespace
}  // namespace longhaul

int main(int argc, char** argv) {
  try {
    return longhaul::run_program(argc, argv);
  } catch (const longhaul::UserError& error) {
    return longhaul::fail(error.what());
  } catch (const std::bad_alloc&) {
    return longhaul::fail("out of memory; try a shorter text, --kv-type q8_0 or a smaller --chunk");
  } catch (const std::exception& error) {
    return longhaul::fail(error.what());
  }
}
