// longhaul run: one answer, or a chat.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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
#include "cli/longer_model.h"
#include "cli/prefill_forecast.h"
#include "cli/questions.h"
#include "cli/run_flags.h"
#include "cli/session_files.h"
#include "cli/source_report.h"
#include "cli/turn.h"
#include "engine/sampling_defaults.h"
#include "text/progress_text.h"
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

/// Loads the session file of --load. Without -f, `documents` become its texts, and without -p it
/// answers the question with which it was saved.
SessionAbout take_loaded(RunFlags& flags, Session& session, std::vector<Document>& documents) {
  if (flags.load.empty()) return {};
  LoadedSession loaded = load_session(flags.load, flags.prompt, session.sequence());
  if (!flags.asks_loaded() || flags.prompt.form.raw) return loaded.about;
  documents = std::move(loaded.documents);
  if (flags.interactive && (documents.empty() || documents.front().text.empty())) {
    user_error("--load {}: it holds no text, and a saved chat cannot be continued", flags.load);
  }
  if (flags.prompt.question.empty() && !flags.interactive) {
    flags.prompt.question = std::move(loaded.question);
  }
  return loaded.about;
}

/// A chat whose prefill of the texts was stopped has fewer tokens than they have.
int64_t tokens_to_save(const RunFlags& flags, const std::vector<std::string>& texts,
                       const Session& session) {
  const auto held = std::ssize(session.tokens());
  if (texts.empty()) return held;
  const auto all = std::ssize(compose_before_question(flags.prompt, texts, session.engine()));
  return std::max(held, all);
}

/// A text without a question is continued or commented on by the model, which is seldom intended. A
/// pipe may be the question itself.
void note_missing_question(const RunFlags& flags) {
  const bool named = !flags.prompt.files.empty() &&
                     std::ranges::find(flags.prompt.files, "-") == flags.prompt.files.end();
  if (!named || flags.interactive || flags.quiet || flags.json || !flags.prompt.question.empty() ||
      !flags.questions.empty() || flags.sampling.max_tokens == 0) {
    return;
  }
  std::fputs("note: no question was given; -p asks one\n", stderr);
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
  if (sources != nullptr) {
    std::fputs(("\n" + sources_text(*sources, documents)).c_str(), stdout);
    std::fflush(stdout);
  }
  if (!flags.quiet) std::fputs(("\n" + run_report(facts, session)).c_str(), stderr);
  note_missing_question(flags);
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

/// Why offer_advised_method() asks.
std::string reason_of_offer(const Engine& engine, int64_t tokens) {
  std::string reason =
      fmt::format("{} tokens are more than the {} that this model was trained for",
                  with_commas(tokens), with_commas(engine.model().shape.trained_context));
  if (const auto longer = longer_model(tokens)) {
    reason +=
        fmt::format(" (-m {} was trained for {})", longer->name, with_commas(longer->trained));
  }
  return reason + ".\n";
}

/// Its question, with forecasts from a measurement of both methods.
std::string offer_question(const std::shared_ptr<const Engine>& engine,
                           const SessionOptions& options, const std::vector<Document>& documents,
                           const std::string& advised) {
  const std::vector<int32_t> text =
      engine->tokenizer().encode(join_documents(texts_of(documents), ""));
  SessionOptions other = options;
  other.attention = MethodSpec::parse(advised);
  return fmt::format("Read them with --attention {} (about {})? n: {} (about {}) [Y/n] ", advised,
                     rounded_time(forecast_prefill(engine, other, text)), options.attention.text(),
                     rounded_time(forecast_prefill(engine, options, text)));
}

/// On a terminal: asks whether a text that is too long for the model is to be read with the method
/// that `advise` recommends. Returns false if Ctrl-C ended the question.
bool offer_advised_method(const RunFlags& flags, const std::shared_ptr<const Engine>& engine,
                          const std::vector<Document>& documents, SessionOptions& options) {
  const bool on_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
  if (!on_terminal || flags.quiet || flags.json || !flags.load.empty() || flags.names_attention()) {
    return true;
  }
  const int64_t tokens = tokens_of(flags, *engine, documents);
  const auto advised = method_beyond_training(*engine, options, tokens);
  if (!advised) return true;
  std::fputs(reason_of_offer(*engine, tokens).c_str(), stderr);
  const std::string question = offer_question(engine, options, documents, *advised);
  Interrupt interrupt;
  const std::optional<std::string> answer = read_line(question, interrupt.flag());
  if (!answer && interrupt.requested()) {
    std::fputs("\n", stderr);
    return false;
  }
  if (!answer) user_error("cancelled");
  const std::string_view word = trim_back(trim_front(*answer));
  if (word.empty() || word == "y" || word == "Y" || word == "yes") {
    options.attention = MethodSpec::parse(*advised);
  }
  return true;
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
  if (!offer_advised_method(flags, engine, documents, session_options)) return kExitCancelled;
  Session session(engine, session_options);
  const Stopwatch load_watch;
  const SessionAbout loaded_about = take_loaded(flags, session, documents);
  const double load_seconds = load_watch.seconds();
  const size_t loaded = session.tokens().size();
  const std::vector<std::string> texts = texts_of(documents);

  Interrupt interrupt;
  TurnOptions turn;
  if (flags.interactive) take_models_sampling(flags, *engine);
  turn.generate = flags.sampling.options(&interrupt.flag());
  turn.generate.constraint = flags.constraint.constraint(engine->tokenizer());
  turn.generate.starts_text = !flags.prompt.form.raw;  // a raw prompt's text continues
  turn.stream = !flags.json;
  turn.progress = !flags.quiet && !flags.json;
  turn.about = about_to_save(flags.model.model, flags.prompt, documents, loaded_about);
  if (flags.interactive) {
    const int status =
        run_chat(session, flags.prompt, documents,
                 {turn, flags.quiet, flags.load, flags.model.model, flags.sources}, interrupt);
    if (!flags.save.empty()) {
      save_session(session, flags.save, tokens_to_save(flags, texts, session), turn.about,
                   flags.quiet);
    }
    return status;
  }
  turn.save = flags.save;
  const PromptTokens prompt = prompt_of(flags, texts, session);
  warn_beyond_training(*engine, session.options(), static_cast<int64_t>(prompt.tokens.size()));
  if (flags.only_reads()) warn_chosen_without_question(session, flags.save);
  const bool warned =
      !flags.load.empty() && warn_other_text(session.sequence(), prompt.tokens, flags.load);
  std::optional<ReplySources> followed;
  if (flags.sources > 0) {
    followed.emplace(session).begin(std::ssize(prompt.tokens));
  }
  RunFacts facts = run_turn(session, prompt.tokens, prompt.instruction, turn, interrupt);
  if (loaded > 0 && facts.reading.reused == 0 && !warned)
    warn_read_anew(session.sequence(), flags.load);
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
      "  longhaul run -f report.pdf -p 'What does the report advise?'\n"
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
