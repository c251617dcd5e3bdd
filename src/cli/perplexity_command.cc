// longhaul perplexity: prediction of a text by a model.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "base/system_info.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/sandbox_flags.h"
#include "cli/session_flags.h"
#include "cli/table.h"
#include "documents/documents.h"
#include "engine/perplexity.h"
#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

struct PerplexityFlags {
  ModelFlags model;
  SandboxFlags sandbox;
  SessionFlags session;
  std::string file;
  int64_t window = 2048;
  int64_t stride = 0;  ///< 0: equals the tokens scored per window
  int64_t prefill = 0;
  std::string instruction;
  bool json = false;
  bool quiet = false;
};

struct Figures {
  const PerplexityFlags& flags;
  const Engine& engine;
  const SessionOptions& session;
  const PerplexityPlan& plan;
  const PerplexityResult& result;
  int64_t tokens;

  double tokens_per_second() const {
    return static_cast<double>(result.tokens_scored) / result.seconds;
  }
};

Table figures_of(const Figures& f) {
  Table table;
  const auto windows = static_cast<int64_t>(f.result.window_sums.size());
  if (!f.result.finished) {
    table.add({"stopped", fmt::format("after {} of {} windows, which the figures cover",
                                      with_commas(windows), with_commas(f.result.windows))});
  }
  table.add({"perplexity", fmt::format("{:.4f}", f.result.perplexity())});
  table.add({"mean -ln p", fmt::format("{:.6f} per token", f.result.mean())});
  table.add({"tokens",
             fmt::format("{} scored of {}, {} of {} every {}", with_commas(f.result.tokens_scored),
                         with_commas(f.tokens), counted(windows, "window"),
                         with_commas(f.plan.window), with_commas(f.plan.stride))});
  return table;
}

/// Prints results to standard output and costs to standard error, in the same columns.
void print_figures(const Figures& f) {
  Table table = figures_of(f);
  const std::string figures = table.text();
  std::fputs(figures.c_str(), stdout);
  if (f.flags.quiet) return;
  std::fflush(stdout);
  table.add({"time", fmt::format("{} ({} tokens/s)", format_seconds(f.result.seconds),
                                 with_commas(std::llround(f.tokens_per_second())))});
  table.add({"KV", fmt::format("{}, {}, {} attention", format_bytes(f.result.kv_bytes),
                               name_of(f.session.kv_type), f.session.attention.text())});
  table.add({"memory", format_bytes(peak_resident_bytes()) + " at most"});
  table.add({"kernels", kernels_line(f.session)});
  std::fputs(("\n" + table.text().substr(figures.size())).c_str(), stderr);
}

void print_figures_json(const Figures& f) {
  print_json({
      {"perplexity", f.result.perplexity()},
      {"mean_nll", f.result.mean()},
      {"tokens_scored", f.result.tokens_scored},
      {"tokens", f.tokens},
      {"windows", f.result.window_sums.size()},
      {"ctx", f.plan.window},
      {"stride", f.plan.stride},
      {"prefill", f.plan.prefill},
      {"instruction_tokens", f.plan.instruction.size()},
      {"seconds", f.result.seconds},
      {"tokens_per_second", f.tokens_per_second()},
      {"kv_bytes", f.result.kv_bytes},
      {"kv_type", name_of(f.session.kv_type)},
      {"attention", f.session.attention.text()},
      {"peak_rss_bytes", peak_resident_bytes()},
      {"device", place_name(f.session)},
      {"isa", name_of(current_isa())},
      {"products", products_of(f.session)},
      {"threads", thread_count()},
      {"finished", f.result.finished},
  });
}

/// A method that acts at the end of a prompt has no effect on rows of the prompt.
void warn_of_dense_figures(const PerplexityFlags& flags, const SessionOptions& session,
                           const Engine& engine) {
  if (flags.prefill > 0) return;
  const auto method = session.attention.make(engine.model().shape);
  const PromptChoice choice = method->prompt_choice();
  if (choice != PromptChoice::kAtEnd && choice != PromptChoice::kOnceRead) return;
  warn(
      "--attention {}: it evicts when a prompt ends, and without --prefill only the prompt is "
      "scored: the figures are those of dense attention",
      session.attention.text());
}

/// Without --prefill the instruction follows all scored tokens.
void warn_of_late_instruction(const PerplexityFlags& flags, const SessionOptions& session,
                              const Engine& engine) {
  if (flags.prefill > 0 || flags.instruction.empty()) return;
  const auto method = session.attention.make(engine.model().shape);
  if (method->prompt_choice() == PromptChoice::kByInstruction) return;
  warn(
      "--instruction: without --prefill it follows all scored tokens, and --attention {} does not "
      "use it",
      session.attention.text());
}

int run(const PerplexityFlags& flags) {
  PerplexityPlan plan;
  plan.window = flags.window;
  plan.prefill = flags.prefill;
  plan.stride = flags.stride > 0 ? flags.stride : flags.window - flags.prefill;
  SessionOptions session = flags.session.options();
  const std::string text =
      read_document(flags.file, {text_limit(0, session.memory_limit), session.memory_limit, {}})
          .text;
  const auto engine = flags.model.open([&] { flags.sandbox.enter_for(session, {}, true); });
  warn_of_late_instruction(flags, session, *engine);
  const auto tokens = engine->tokenizer().encode(text);
  const int64_t longest =
      std::min<int64_t>(plan.window, std::ssize(tokens)) + std::ssize(flags.instruction);
  flags.session.settle_place(engine, {&session, 1}, longest);
  // It stands in the middle of a text: no BOS.
  plan.instruction = engine->tokenizer().encode(flags.instruction, {.add_special = false});
  Interrupt interrupt;
  warn_beyond_training(*engine, session,
                       std::min<int64_t>(plan.window, static_cast<int64_t>(tokens.size())));
  warn_of_dense_figures(flags, session, *engine);

  ProgressBar bar("prefill", !flags.quiet && !flags.json);
  PerplexityHooks hooks;
  hooks.cancel = &interrupt.flag();
  hooks.progress = [&bar](int64_t done, int64_t total, const PerplexityResult& so_far) {
    bar.update(done, total,
               so_far.tokens_scored > 0 ? fmt::format("{:.3f} so far", so_far.perplexity()) : "");
  };
  const PerplexityResult result = measure_perplexity(engine, session, tokens, plan, hooks);
  bar.clear();
  const Figures figures{flags, *engine, session, plan, result, static_cast<int64_t>(tokens.size())};
  if (!result.finished && result.tokens_scored == 0) return kExitCancelled;
  if (flags.json) {
    print_figures_json(figures);
  } else {
    print_figures(figures);
  }
  return result.finished ? kExitOk : kExitCancelled;
}

}  // namespace

Command add_perplexity_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("perplexity", "How well a model predicts a text");
  auto flags = std::make_shared<PerplexityFlags>();
  app->add_option("file", flags->file, "The text, '-' for standard input")
      ->required()
      ->type_name("FILE");
  flags->model.add_to(*app);
  flags->sandbox.add_to(*app);
  add_number<int64_t>(*app, "-c,--ctx", flags->window, 2, int64_t{1} << 40,
                      "Tokens of a window; each is a fresh context");
  add_number<int64_t>(*app, "--stride", flags->stride, 0, int64_t{1} << 40,
                      "Tokens from the start of a window to the next; 0: --ctx less --prefill");
  add_number<int64_t>(
      *app, "--prefill", flags->prefill, 0, int64_t{1} << 40,
      "Tokens of a window that are its prompt; the others are decoded one at a time "
      "and scored");
  add_text(*app, "--instruction", flags->instruction, "TEXT",
           "Text after each window's prompt, not scored; for methods that use a question");
  flags->session.add_to(*app, SessionFlags::Set::kWithoutContext);
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->add_flag("-q,--quiet", flags->quiet, "No cost report, no progress bar");
  app->footer(
      "A token is scored once, after at most ctx - 1 others. A smaller stride gives each token\n"
      "more context and takes longer. The first token of a window, or its --prefill, is not\n"
      "scored there; with a stride of ctx - 1, or ctx - prefill, only the text's beginning is\n"
      "never scored. Methods that act when a prompt ends (snapkv, ...) need --prefill.\n"
      "Example:\n"
      "  longhaul perplexity book.txt -m nano --ctx 4096 --stride 1024");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
