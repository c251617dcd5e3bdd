#pragma once
// Declares the subcommands of the program. Each function adds the flags of one subcommand to the
// parser, and returns a Command with which it can be run.

#include <functional>

#include "cli/cli11_names.h"

namespace longhaul {

inline constexpr int kExitOk = 0;
inline constexpr int kExitUserError = 2;
/// The exit status after Ctrl-C. Shells report this status for a process that SIGINT has ended.
inline constexpr int kExitCancelled = 130;

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  ///< returns the exit status; throws UserError
};

Command add_run_command(CLI::App& program);
Command add_perplexity_command(CLI::App& program);
Command add_bench_command(CLI::App& program);
Command add_eval_command(CLI::App& program);
Command add_report_command(CLI::App& program);
Command add_heads_command(CLI::App& program);
Command add_calibrate_command(CLI::App& program);
Command add_advise_command(CLI::App& program);
Command add_merge_command(CLI::App& program);
Command add_inspect_command(CLI::App& program);
Command add_tokenize_command(CLI::App& program);
Command add_methods_command(CLI::App& program);
Command add_devices_command(CLI::App& program);
Command add_models_command(CLI::App& program);
Command add_pull_command(CLI::App& program);
Command add_help_command(CLI::App& program);
Command add_reproduce_command(CLI::App& program);
#ifdef LONGHAUL_SERVE
Command add_serve_command(CLI::App& program);
#endif

}  // namespace longhaul
