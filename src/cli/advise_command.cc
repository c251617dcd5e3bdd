// longhaul advise: estimated cost of reading a text with each attention method, and a
// recommendation.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "attention/registry.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/prefill_forecast.h"
#include "cli/prompt_flags.h"
#include "cli/sandbox_flags.h"
#include "cli/session_flags.h"
#include "cli/table.h"
#include "documents/documents.h"
#include "engine/generate.h"
#include "engine/model_names.h"
#include "engine/prefill_time.h"
#include "engine/recommend.h"
#include "text/printable.h"

namespace longhaul {
namespace {

struct AdviseFlags {
  ModelFlags model;
  SandboxFlags sandbox;
  SessionFlags session;
  std::vector<std::string> files;
  PageRanges pages;
  int64_t reply = 1024;
  bool json = false;
  bool all = false;
};

/// A recommended method, and how long it takes by a measurement of its own.
struct TimedRecommendation {
  Recommendation what;
  size_t memory = 0;
  double seconds = 0;  ///< time to read the text
};

struct MethodAdvice {
  std::string name;
  std::string problem;  ///< why it cannot be made; empty if it can
  size_t memory = 0;    ///< weights, keys and values, and working memory
  bool fits = false, within_training = false, profile = false;
  double seconds = 0;  ///< upper bound of the prefill time
};

struct Advice {
  int64_t text_tokens = 0;
  int64_t tokens = 0;  ///< including the reply
  int64_t trained = 0;
  size_t limit = 0;
  double measured_seconds = 0;
  int64_t measured_tokens = 0;
  std::vector<MethodAdvice> methods;
  std::vector<TimedRecommendation> best;
};

/// The text with the method itself, where it can be measured within a second.
TimedRecommendation timed(const AdviseFlags& flags, const std::shared_ptr<const Engine>& engine,
                          const Recommendation& what, std::span<const int32_t> tokens,
                          const Advice& advice) {
  SessionFlags session_flags = flags.session;
  session_flags.attention = what.attention;
  session_flags.kv_type = what.kv_type;
  const SessionOptions options = session_flags.options();
  const ModelShape& shape = engine->model().shape;
  const auto method = options.attention.make(shape);
  TimedRecommendation result{what};
  result.memory = Session(engine, options).forecast(advice.tokens).total();
  const int64_t reach = method->reach(advice.tokens, chunk_of(options.chunk, *method));
  result.seconds = measure_prefill(engine, options, tokens, flags.session.chunk)
                       .time.reading(advice.text_tokens, reach);
  return result;
}

MethodAdvice advice_on(const std::string& name, const Session& session, const Advice& advice,
                       const PrefillTime& time) {
  const ModelShape& shape = session.engine().model().shape;
  const auto method = session.options().attention.make(shape);
  MethodAdvice row;
  row.name = name;
  row.memory = session.forecast(advice.tokens).total();
  row.fits = session.has_room(advice.tokens, 0, 0);
  row.within_training =
      stays_within_training(*method, shape, advice.tokens, session.options().chunk);
  row.profile = has_profile(shape, name);
  const int64_t reach = method->reach(advice.tokens, chunk_of(session.options().chunk, *method));
  row.seconds = time.reading(advice.text_tokens, reach);
  return row;
}

std::vector<MethodAdvice> all_methods(const AdviseFlags& flags,
                                      const std::shared_ptr<const Engine>& engine,
                                      const Advice& advice, const PrefillTime& time) {
  std::vector<MethodAdvice> rows;
  for (const MethodInfo& info : attention_methods()) {
    const std::string name(info.name);
    SessionFlags session = flags.session;
    session.attention = name;
    try {
      rows.push_back(advice_on(name, Session(engine, session.options()), advice, time));
    } catch (const UserError& error) {
      rows.push_back({.name = name, .problem = error.what()});
    }
  }
  return rows;
}

std::string command_of_best(const Recommendation& what, const AdviseFlags& flags) {
  std::string command = "--attention " + what.attention;
  if (what.kv_type != flags.session.kv_type) command += " --kv-type " + what.kv_type;
  return command;
}

std::string best_text(const Advice& advice, const AdviseFlags& flags) {
  if (advice.best.empty()) {
    return "No method that keeps all of this text, or looks it up, reads it within the memory that "
           "is\nfree and the length that the model was trained for. streamingllm would, and "
           "forgets "
           "all but\nthe beginning and the last tokens.\n";
  }
  std::string text;
  for (const TimedRecommendation& best : advice.best) {
    text += fmt::format("{} {}: {}.\n   prefill takes about {}, {} of memory\n",
                        text.empty() ? "Try" : "or", command_of_best(best.what, flags),
                        best.what.why, format_seconds(best.seconds), format_bytes(best.memory));
  }
  return text;
}

void print_advice(const Advice& a, const AdviseFlags& flags) {
  const std::string more =
      flags.reply > 0 ? fmt::format(" and {} for question and reply", with_commas(flags.reply))
                      : "";
  std::string text = best_text(a, flags);
  text += fmt::format("\n{} tokens{}; the model was trained for {}; {} of memory may be used\n",
                      with_commas(a.tokens - flags.reply), more, with_commas(a.trained),
                      format_bytes(a.limit));
  if (!flags.all) {
    text += fmt::format("--all lists all {} methods.\n", a.methods.size());
    std::fputs(text.c_str(), stdout);
    return;
  }
  using enum Table::Align;
  Table table({kLeft, kRight, kRight, kLeft, kLeft});
  table.add({"attention", "memory", "prefill, at most", "trained length", "profile"});
  for (const MethodAdvice& m : a.methods) {
    if (!m.problem.empty()) {
      const std::string problem = one_line(m.problem);
      table.add({m.name, "-", "-", "-", problem.substr(0, problem.find(';'))});
      continue;
    }
    table.add({m.name, format_bytes(m.memory) + (m.fits ? "" : " (too much)"),
               format_seconds(m.seconds), m.within_training ? "kept" : "passed",
               m.profile ? "yes" : "none: defaults"});
  }
  text += "\n" + table.text();
  text += fmt::format(
      "\nmemory: weights, keys and values of text and reply, working memory, the program.\n"
      "prefill: from {} of dense attention on the text's first {} tokens; methods that compute\n"
      "less of what they see are faster. Without a profile for this model the defaults may answer\n"
      "worse ('longhaul heads --save' writes profiles for ltri and duo). docs/methods says what\n"
      "each method gives up.\n",
      format_seconds(a.measured_seconds), with_commas(a.measured_tokens));
  std::fputs(text.c_str(), stdout);
}

nlohmann::ordered_json advice_json(const Advice& a) {
  nlohmann::ordered_json methods = nlohmann::ordered_json::array();
  for (const MethodAdvice& m : a.methods) {
    if (!m.problem.empty()) {
      methods.push_back({{"attention", m.name}, {"problem", m.problem}});
      continue;
    }
    methods.push_back({{"attention", m.name},
                       {"memory_bytes", m.memory},
                       {"fits", m.fits},
                       {"within_trained_length", m.within_training},
                       {"prefill_seconds_at_most", m.seconds},
                       {"reading_seconds_at_most", m.seconds},  // the name of older versions
                       {"profile", m.profile}});
  }
  nlohmann::ordered_json json = {{"tokens", a.tokens},
                                 {"trained_context", a.trained},
                                 {"memory_limit", a.limit},
                                 {"measured_seconds", a.measured_seconds},
                                 {"measured_tokens", a.measured_tokens}};
  for (const TimedRecommendation& best : a.best) {
    const nlohmann::ordered_json item = {{"attention", best.what.attention},
                                         {"kv_type", best.what.kv_type},
                                         {"why", best.what.why},
                                         {"reading_seconds", best.seconds},
                                         {"memory_bytes", best.memory},
                                         {"sources", true}};  // some methods had none
    if (json.find("recommended") == json.end()) json["recommended"] = item;
    json["best"].push_back(item);
  }
  json["methods"] = methods;
  return json;
}

/// Memory for sessions at their location: a GPU's memory already holds the weights.
size_t limit_of(const AdviseFlags& flags, const Engine& engine, const Queue& queue) {
  if (flags.session.memory_limit > 0) return flags.session.memory_limit;
  if (queue.on_host()) return available_memory_bytes();
  return queue.device().free_bytes() + engine.on_device(queue)->bytes();
}

/// A model of the catalogue that has not been fetched: its size and trained length are known.
int advise_before_pull(const AdviseFlags& flags, const CatalogueEntry& entry,
                       const std::vector<Document>& documents) {
  constexpr double kBytesPerToken = 4.2;  // English prose with vocabularies of 50,000 to 150,000
  size_t bytes = 0;
  for (const Document& document : documents) bytes += document.text.size();
  const auto tokens =
      static_cast<int64_t>(static_cast<double>(bytes) / kBytesPerToken) + flags.reply;
  const size_t limit =
      flags.session.memory_limit > 0 ? flags.session.memory_limit : available_memory_bytes();
  const bool trained = tokens <= entry.context;
  const bool fits = static_cast<size_t>(entry.bytes) < limit;
  if (flags.json) {
    print_json({{"model", entry.name},
                {"fetched", false},
                {"tokens_about", tokens},
                {"trained_context", entry.context},
                {"weight_bytes", entry.bytes},
                {"memory_limit", limit},
                {"within_trained_length", trained},
                {"weights_fit", fits}});
    return kExitOk;
  }
  fmt::print(
      "{} has not been fetched: 'longhaul pull {}' fetches {}. Then this command measures it.\n"
      "The text and {} tokens for question and reply are about {} tokens; the model was trained "
      "for "
      "{}: {}.\nIts weights {} into the {} of memory that may be used.\n",
      entry.name, entry.name, format_bytes(static_cast<size_t>(entry.bytes)),
      with_commas(flags.reply), with_commas(tokens), with_commas(entry.context),
      trained ? "dense attention reads all of it" : "a method that goes further is needed",
      fits ? "fit" : "do not fit", format_bytes(limit));
  return kExitOk;
}

/// Whether `model` is a name of the catalogue that nothing at hand has.
std::optional<CatalogueEntry> entry_to_fetch(const std::string& model) {
  try {
    find_model_source(model);
    return std::nullopt;
  } catch (const UserError&) {
    return find_in_catalogue(model);
  }
}

int run(AdviseFlags flags) {
  const auto documents = read_documents(flags.files, {text_limit(0, flags.session.memory_limit),
                                                      flags.session.memory_limit, flags.pages});
  if (const auto entry = entry_to_fetch(flags.model.model)) {
    return advise_before_pull(flags, *entry, documents);
  }
  const auto engine =
      flags.model.open([&] { flags.sandbox.enter_for(flags.session.options(), {}, true); });
  const auto tokens = engine->tokenizer().encode(join_documents(texts_of(documents), ""));
  if (tokens.empty()) user_error("{}: there is no text in it", documents.front().name);
  Advice advice;
  advice.text_tokens = std::ssize(tokens);
  advice.tokens = advice.text_tokens + flags.reply;
  advice.trained = engine->model().shape.trained_context;
  SessionOptions place = flags.session.options();
  flags.session.settle_place(engine, {&place, 1}, 0);
  if (place.queue.on_host()) flags.session.device = "cpu";
  advice.limit = limit_of(flags, *engine, place.queue);
  SessionOptions dense = flags.session.options();
  dense.attention = MethodSpec::parse("dense");
  const MeasuredPrefill measured = measure_prefill(engine, dense, tokens, 256);
  advice.measured_seconds = measured.seconds;
  advice.measured_tokens = measured.tokens;
  advice.methods = all_methods(flags, engine, advice, measured.time);
  const auto fits = [&](const std::string& attention, const std::string& kv_type) {
    SessionFlags session = flags.session;
    session.attention = attention;
    session.kv_type = kv_type;
    return Session(engine, session.options()).has_room(advice.tokens, 0, 0);
  };
  constexpr size_t kBest = 3;
  for (const Recommendation& what :
       recommendations(engine->model().shape, advice.tokens, flags.session.chunk,
                       flags.session.kv_type, fits, kBest)) {
    advice.best.push_back(timed(flags, engine, what, tokens, advice));
  }
  if (flags.json) {
    print_json(advice_json(advice));
  } else {
    print_advice(advice, flags);
  }
  return kExitOk;
}

}  // namespace

Command add_advise_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "advise", "Memory and time of a text with each method, and which to try");
  auto flags = std::make_shared<AdviseFlags>();
  app->add_option("files", flags->files, "The texts, '-' for standard input")
      ->required()
      ->type_name("FILE...");
  add_pages(*app, flags->pages);
  flags->model.add_to(*app);
  flags->sandbox.add_to(*app);
  add_number<int64_t>(*app, "-n,--tokens", flags->reply, 0, int64_t{1} << 40,
                      "Room for question and reply, in tokens");
  flags->session.add_to(*app, SessionFlags::Set::kWithoutAttentionAndContext);
  app->add_flag("--all", flags->all, "List all methods, not only the best three");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->footer("Example:\n  longhaul advise report.pdf -m model.gguf");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
