// The program `longhaul`: registers the subcommands and turns every failure into one line and an
// exit status.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <string>

#include "base/error.h"
#include "cli/build_id.h"
#include "cli/command.h"
#include "cli/compat_flags.h"
#include "cli/own_command.h"
#include "cli/terminal_guard.h"
#include "cli/usage_error.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// The only place where errors are printed; names in them may contain anything.
int fail(const std::string& problem) {
  std::fprintf(stderr, "error: %s\n", one_line(problem).c_str());
  return kExitUserError;
}

/// Prevents later files from being opened as standard streams that the caller closed, because
/// output would then go into them. Reading from a closed standard input, and printing to a closed
/// standard output, remain errors. Output to a closed standard error is dropped silently, since it
/// cannot be reported.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) return;
  }
}

/// Why some output was not written: a full disk, a closed stream. Empty if all was written.
std::string output_problem() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return "";
  // The reason of a failed earlier flush is lost.
  return fmt::format("standard output: not all of it could be written: {}",
                     errno != 0 ? std::strerror(errno) : "is it full or closed?");
}

int run_program(int argc, char** argv) {
  CLI::App program("Longhaul: answers questions about very long texts.", "longhaul");
  const std::string build = *build_id() != 0 ? fmt::format(" ({})", build_id()) : "";
  program.set_version_flag("--version", "longhaul " LONGHAUL_VERSION + build);
  program.footer(
      "'longhaul COMMAND --help' shows a command's flags and an example.\n"
      "Example: longhaul run -m nano -f book.txt -p 'What is the pass key?'");
  program.get_formatter()->column_width(34);
  program.require_subcommand(0, 1);  // a folder or a text may have a subcommand's name
  const std::array commands = {
      add_run_command(program),        add_advise_command(program),
      add_models_command(program),     add_pull_command(program),
#ifdef LONGHAUL_SERVE
      add_serve_command(program),
#endif
      add_methods_command(program),    add_eval_command(program),
      add_report_command(program),     add_bench_command(program),
      add_perplexity_command(program), add_calibrate_command(program),
      add_heads_command(program),      add_merge_command(program),
      add_inspect_command(program),    add_tokenize_command(program),
      add_devices_command(program),    add_reproduce_command(program),
      add_help_command(program),
  };
  const std::span<const char* const> given(argv, static_cast<size_t>(argc));
  OwnArguments own = in_own_words(program, given.subspan(std::min<size_t>(1, given.size())));
  const std::string equals = equals_problem(program, own.arguments);
  if (!equals.empty()) return fail(equals);
  try {
    std::reverse(own.arguments.begin(), own.arguments.end());  // this parser expects reversed order
    program.parse(std::move(own.arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    return fail(usage_error_line(program, error));
  }
  for (const std::string& note : own.notes) {
    std::fprintf(stderr, "note: %s\n", one_line(note).c_str());
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
  using longhaul::fail;
  longhaul::occupy_closed_streams();
  longhaul::remember_command({argv, static_cast<size_t>(argc)});
  longhaul::guard_terminals();
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond `ulimit -f` is an error, like a full disk
  try {
    const int status = longhaul::run_program(argc, argv);
    const std::string problem = longhaul::output_problem();
    return problem.empty() || status == longhaul::kExitUserError ? status : fail(problem);
  } catch (const longhaul::UserError& error) {
    return fail(error.what());
  } catch (const std::bad_alloc&) {
    return fail("out of memory; try a shorter text, --kv-type q8_0 or a smaller --chunk");
  } catch (const std::exception& error) {
    const std::string problem = longhaul::output_problem();  // fmt::print throws on failure
    return fail(problem.empty() ? error.what() : problem);
  }
}
