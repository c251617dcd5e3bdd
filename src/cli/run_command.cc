// longhaul run: one answer, or a chat.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/sandbox.h"
#include "cli/chat_loop.h"
#include "cli/command.h"
#include "cli/documents.h"
#include "cli/flags.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/prompt.h"
#include "cli/sampling_flags.h"
#include "cli/session_files.h"
#include "cli/session_flags.h"
#include "cli/turn.h"

namespace longhaul {
namespace {

struct RunFlags {
  ModelFlags model;
  SessionFlags session;
  PromptFlags prompt;
  SamplingFlags sampling;
  bool interactive = false;
  bool json = false;
  bool quiet = false;
  bool sandbox = false;
  std::string save, load;

  void add_to(CLI::App& app);
  void check() const;
  /// Texts are read and saved, to be asked about later.
  bool only_reads() const {
    return !save.empty() && sampling.max_tokens == 0 && prompt.question.empty();
  }
  PromptTokens prompt_of(const std::vector<std::string>& documents, const Engine& engine) const;
};

void RunFlags::add_to(CLI::App& app) {
  model.add_to(app);
  prompt.add_to(app);
  app.add_flag("-i,--interactive", interactive, "Chat: ask further questions, with line editing");
  sampling.add_to(app);
  session.add_to(app);
  const std::string group = "Session files";
  add_path(app, "--save", save, "FILE", "Keep what was read: keys and values after the prompt")
      ->group(group);
  add_path(app, "--load", load, "FILE", "Start from it: only what differs is read")->group(group);
  app.add_flag("--json", json, "One JSON object on standard output instead of the text");
  app.add_flag("-q,--quiet", quiet, "No report, no progress bar");
  app.add_flag("--sandbox", sandbox,
               "Before the model is read: give up programs, network, and writing but to --save")
      ->group("Machine");
}

void RunFlags::check() const {
  if (interactive && json) user_error("--json: does not go with -i");
  if (interactive && prompt.form.raw)
    user_error("--raw: does not go with -i, a chat needs a template");
  prompt.check();
  size_t from_stdin = 0;
  for (const std::string& file : prompt.files) from_stdin += file == "-" ? 1 : 0;
  if (interactive && from_stdin > 0)
    user_error("-f -: does not go with -i, which reads your lines");
  if (from_stdin > 1) user_error("-f -: standard input can be read once, not {} times", from_stdin);
  if (!interactive && prompt.files.empty() && prompt.question.empty()) refuse_empty_prompt();
  if (!save.empty()) check_save_target(save);
}

/// Where texts are only read: what stays of the prompt whatever will be asked.
PromptTokens RunFlags::prompt_of(const std::vector<std::string>& documents,
                                 const Engine& engine) const {
  if (only_reads()) return {compose_before_question(prompt, documents, engine), 0};
  return compose_prompt(prompt, documents, engine);
}

/// Exit status of a single answer.
int finish(const RunFlags& flags, const RunFacts& facts, const Session& session) {
  if (flags.json) {
    print_json(run_json(facts, session));
  } else if (!flags.quiet) {
    std::fputs(("\n" + run_report(facts, session)).c_str(), stderr);
  }
  return facts.cancelled() ? kExitCancelled : kExitOk;
}

void enter_sandbox_if_asked(const RunFlags& flags) {
  if (!flags.sandbox) return;
  std::vector<std::filesystem::path> written;
  if (!flags.save.empty()) written.push_back(std::filesystem::path(flags.save).parent_path());
  const Sandbox sandbox = enter_sandbox(written);
  if (!flags.quiet && !flags.json) {
    std::fputs(("sandbox      " + sandbox.description() + "\n").c_str(), stderr);
  }
}

int run(const RunFlags& flags) {
  flags.check();
  const SessionOptions session_options = flags.session.options();
  std::vector<std::string> documents;
  const TextLimit limit = text_limit(session_options.context, session_options.memory_limit);
  for (const std::string& file : flags.prompt.files) {
    documents.push_back(read_document(file, limit));
  }

  enter_sandbox_if_asked(flags);
  const auto engine = flags.model.open();
  Session session(engine, session_options);
  const Stopwatch load_watch;
  if (!flags.load.empty()) session.load(flags.load);
  const double load_seconds = load_watch.seconds();
  const size_t loaded = session.tokens().size();

  Interrupt interrupt;
  TurnOptions turn;
  turn.generate = flags.sampling.options(&interrupt.flag());
  turn.generate.starts_text = !flags.prompt.form.raw;  // a raw prompt's text goes on
  turn.stream = !flags.json;
  turn.progress = !flags.quiet && !flags.json;
  if (flags.interactive) {
    const int status =
        run_chat(session, flags.prompt, documents, {turn, flags.quiet, flags.load}, interrupt);
    if (!flags.save.empty()) session.save(flags.save);
    return status;
  }
  turn.save = flags.save;
  const PromptTokens prompt = flags.prompt_of(documents, *engine);
  warn_beyond_training(*engine, session.options(), static_cast<int64_t>(prompt.tokens.size()));
  if (flags.only_reads()) warn_chosen_without_question(session, flags.save);
  const bool warned = !flags.load.empty() && warn_other_text(session, prompt.tokens, flags.load);
  RunFacts facts = run_turn(session, prompt.tokens, prompt.instruction, turn, interrupt);
  if (loaded > 0 && facts.reading.reused == 0 && !warned) warn_read_anew(session, flags.load);
  facts.loaded_tokens = loaded;
  facts.session_load_seconds = load_seconds;
  return finish(flags, facts, session);
}

}  // namespace

Command add_run_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("run", "Answer a question about texts, or chat");
  auto flags = std::make_shared<RunFlags>();
  flags->add_to(*app);
  app->footer(
      "Examples:\n"
      "  longhaul run -m smollm2 -f report.txt -p 'What does the report advise?'\n"
      "  longhaul run -f book.txt --save book.session -n 0        # read once ...\n"
      "  longhaul run -f book.txt --load book.session -p 'Who is Ellen?'   # ... ask often\n"
      "  git log | longhaul run -m model.gguf -f - -p 'Summarise.' --json\n"
      "  longhaul run -m model.gguf -f book.txt -i");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
