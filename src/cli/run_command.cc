// longhaul run: one answer, or a chat.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/chat_loop.h"
#include "cli/cli11_names.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/line_editor.h"
#include "cli/questions.h"
#include "cli/run_flags.h"
#include "cli/session_files.h"
#include "cli/source_report.h"
#include "cli/turn.h"
#include "engine/loaded_text.h"
#include "engine/sampling_defaults.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

/// The prompt; if texts are only read, its part that does not depend on the question.
PromptTokens prompt_of(const RunFlags& flags, const std::vector<std::string>& texts,
                       const Session& session) {
  const Engine& engine = session.engine();
  if (flags.asks_loaded() && flags.prompt.form.raw) {  // the bare text continues
    PromptTokens prompt;
    prompt.tokens.assign(session.tokens().begin(), session.tokens().end());
    const auto more = engine.tokenizer().encode(flags.prompt.question,
                                                {.add_special = false, .parse_special = true});
    prompt.tokens.insert(prompt.tokens.end(), more.begin(), more.end());
    prompt.instruction = static_cast<int64_t>(more.size());
    return prompt;
  }
  if (flags.only_reads()) return {compose_before_question(flags.prompt, texts, engine), 0};
  return compose_prompt(flags.prompt, texts, engine);
}

/// A chat uses the sampling settings recommended for the model, unless --temp overrides them.
void take_models_sampling(RunFlags& flags, const Engine& engine) {
  const auto defaults = sampling_defaults(engine.checkpoint());
  if (!defaults || !flags.sampling.take_defaults(defaults->sampler) || flags.quiet) return;
  std::fputs(
      fmt::format("replies are sampled as {} says: {}; --temp 0: always the most likely token\n",
                  defaults->source, sampling_text(flags.sampling.sampler))
          .c_str(),
      stderr);
}

/// The text in the session file, and the question with which it was saved if none is given now.
Document take_loaded(RunFlags& flags, const Session& session) {
  LoadedText loaded = text_of_loaded(session, flags.prompt, flags.load);
  if (flags.interactive && loaded.text.empty()) {
    user_error("--load {}: it holds no text, and a saved chat cannot be continued", flags.load);
  }
  if (flags.prompt.question.empty() && !flags.interactive) {
    flags.prompt.question = std::move(loaded.left_out);
  }
  return {"the text in " + flags.load, std::move(loaded.text), ""};
}

/// Returns the exit status of a single answer.
int finish(const RunFlags& flags, const RunFacts& facts, const Session& session,
           const FoundSources* sources, const std::vector<Document>& documents) {
  if (flags.json) {
    nlohmann::ordered_json json = run_json(facts, session);
    if (sources != nullptr) add_sources(*sources, documents, json);
    print_json(json);
    return facts.cancelled() ? kExitCancelled : kExitOk;
  }
  // Explicitly requested output is printed even with --quiet.
  if (sources != nullptr) std::fputs(("\n" + sources_text(*sources, documents)).c_str(), stderr);
  if (!flags.quiet) std::fputs(("\n" + run_report(facts, session)).c_str(), stderr);
  return facts.cancelled() ? kExitCancelled : kExitOk;
}

/// Call when the model is available.
void enter_sandbox_for(const RunFlags& flags, const SessionOptions& session) {
  std::vector<std::filesystem::path> written;
  if (!flags.save.empty()) written.push_back(std::filesystem::path(flags.save).parent_path());
  flags.sandbox.enter_for(session, written, flags.quiet || flags.json);
}

/// Tokens of the question and the texts, without a chat template.
int64_t tokens_of(const RunFlags& flags, const Engine& engine,
                  const std::vector<Document>& documents) {
  int64_t tokens = std::ssize(engine.tokenizer().encode(flags.prompt.question));
  for (const Document& document : documents) {
    tokens += std::ssize(engine.tokenizer().encode(document.text));
  }
  return tokens;
}

/// With a GPU found by --device auto: checks whether it can run the texts and the reply. A chat's
/// texts are not known in advance.
void settle_place(const RunFlags& flags, const std::shared_ptr<const Engine>& engine,
                  const std::vector<Document>& documents, SessionOptions& session) {
  if (session.queue.on_host()) return;
  const int64_t tokens = tokens_of(flags, *engine, documents);
  const int64_t reply = flags.interactive ? 0 : std::max<int64_t>(0, flags.sampling.max_tokens);
  flags.session.settle_place(engine, {&session, 1}, tokens, reply);
  if (session.queue.on_host()) enter_sandbox_for(flags, session);
}

/// On a terminal: asks whether a text that is too long for the model is to be read with the method
/// that `advise` recommends.
void offer_advised_method(const RunFlags& flags, const Engine& engine,
                          const std::vector<Document>& documents, SessionOptions& options) {
  const bool on_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
  if (!on_terminal || flags.quiet || flags.json || !flags.load.empty() || flags.names_attention()) {
    return;
  }
  const int64_t tokens = tokens_of(flags, engine, documents);
  const auto advised = method_beyond_training(engine, options, tokens);
  if (!advised) return;
  const std::string question = fmt::format(
      "{} tokens are more than the {} that this model was trained for. Read them with --attention "
      "{}? [Y/n] ",
      with_commas(tokens), with_commas(engine.model().shape.trained_context), *advised);
  CancelFlag cancel;
  const std::optional<std::string> answer = read_line(question, cancel);
  if (!answer) user_error("cancelled");
  const std::string_view word = trim_back(trim_front(*answer));
  if (word.empty() || word == "y" || word == "Y" || word == "yes") {
    options.attention = MethodSpec::parse(*advised);
  }
}

int run(RunFlags& flags) {
  flags.settle();
  SessionOptions session_options = flags.session.options();
  std::vector<QuestionLine> questions;
  if (!flags.questions.empty()) questions = read_questions(flags.questions);
  std::vector<Document> documents =
      flags.read_texts(text_limit(session_options.context, session_options.memory_limit),
                       session_options.memory_limit);

  const auto engine = flags.model.open([&] { enter_sandbox_for(flags, session_options); });
  settle_place(flags, engine, documents, session_options);
  if (!questions.empty()) {
    return run_questions(flags, engine, session_options, questions, documents);
  }
  offer_advised_method(flags, *engine, documents, session_options);
  Session session(engine, session_options);
  const Stopwatch load_watch;
  if (!flags.load.empty()) session.load(flags.load);
  const double load_seconds = load_watch.seconds();
  const size_t loaded = session.tokens().size();
  if (flags.asks_loaded() && !flags.prompt.form.raw) {
    documents.push_back(take_loaded(flags, session));
  }
  const std::vector<std::string> texts = texts_of(documents);

  Interrupt interrupt;
  TurnOptions turn;
  if (flags.interactive) take_models_sampling(flags, *engine);
  turn.generate = flags.sampling.options(&interrupt.flag());
  turn.generate.constraint = flags.constraint.constraint(engine->tokenizer());
  turn.generate.starts_text = !flags.prompt.form.raw;  // a raw prompt's text continues
  turn.stream = !flags.json;
  turn.progress = !flags.quiet && !flags.json;
  if (flags.interactive) {
    const int status =
        run_chat(session, flags.prompt, documents,
                 {turn, flags.quiet, flags.load, flags.model.model, flags.sources}, interrupt);
    if (!flags.save.empty()) {
      save_session(session, flags.save, std::ssize(session.tokens()), flags.quiet);
    }
    return status;
  }
  turn.save = flags.save;
  const PromptTokens prompt = prompt_of(flags, texts, session);
  warn_beyond_training(*engine, session.options(), static_cast<int64_t>(prompt.tokens.size()));
  if (flags.only_reads()) warn_chosen_without_question(session, flags.save);
  const bool warned = !flags.load.empty() && warn_other_text(session, prompt.tokens, flags.load);
  std::optional<ReplySources> followed;
  if (flags.sources > 0) {
    followed.emplace(session).begin(std::ssize(prompt.tokens));
  }
  RunFacts facts = run_turn(session, prompt.tokens, prompt.instruction, turn, interrupt);
  if (loaded > 0 && facts.reading.reused == 0 && !warned) warn_read_anew(session, flags.load);
  facts.model = flags.model.model;
  facts.texts = text_facts(documents);
  facts.loaded_tokens = loaded;
  facts.session_load_seconds = load_seconds;
  std::optional<FoundSources> sources;
  if (followed) {
    sources = followed->find(prompt.tokens, documents, facts.reply.tokens,
                             turn.generate.starts_text, static_cast<size_t>(flags.sources));
  }
  return finish(flags, facts, session, sources ? &*sources : nullptr, documents);
}

}  // namespace

Command add_run_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("run", "Answer a question about texts, or chat");
  auto flags = std::make_shared<RunFlags>();
  flags->add_to(*app);
  app->footer(
      "Examples:\n"
      "  longhaul run -m smollm2 -f report.txt -p 'What does the report advise?'\n"
      "  longhaul run -f book.txt --save book.session -n 0        # prefill once ...\n"
      "  longhaul run -f book.txt --load book.session -p 'Who is Ellen?'   # ... ask often\n"
      "  longhaul run -f book.txt --questions questions.txt       # one question per line\n"
      "  longhaul run smollm2 'What is a ferry?'\n"
      "  longhaul run -f letter.txt -p 'Who wrote it, and when?' --json-schema letter.json\n"
      "  git log | longhaul run -m model.gguf -p 'Summarise.' --json\n"
      "  longhaul run -m model.gguf -f book.txt -i");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
