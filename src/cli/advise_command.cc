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
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/prompt_flags.h"
#include "cli/sandbox_flags.h"
#include "cli/session_flags.h"
#include "cli/table.h"
#include "documents/documents.h"
#include "engine/generate.h"
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
  std::optional<Recommendation> best;
};

/// Prefills the text's beginning with dense attention for a second, in small passes.
PrefillTime measure(const std::shared_ptr<const Engine>& engine, SessionOptions options,
                    std::span<const int32_t> tokens, Advice& advice) {
  constexpr double kSeconds = 1;
  constexpr size_t kMost = 1 << 16;
  options.attention = MethodSpec::parse("dense");
  options.chunk = 256;
  Session session(engine, options);
  session.prefill(
      tokens.first(std::min<size_t>(tokens.size(), 64)));  // builds kernels and loads weights
  Session timed(engine, options);
  size_t beginning = std::min(tokens.size(), kMost);
  while (beginning > 256 && !timed.has_room(static_cast<int64_t>(beginning), 0, 0)) beginning /= 2;
  PrefillTime time(0);
  CancelFlag enough;
  const Stopwatch watch;
  PrefillHooks hooks;
  hooks.cancel = &enough;
  hooks.pass_progress = [&](int64_t begin, int64_t count, double share) {
    time.add(begin, count, share, watch.seconds(), timed.report().attention_seconds);
    advice.measured_tokens = begin + static_cast<int64_t>(share * static_cast<double>(count));
    if (watch.seconds() > kSeconds) enough.request();
  };
  timed.prefill(tokens.first(beginning), hooks);
  advice.measured_seconds = watch.seconds();
  return time;
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

std::string recommendation_line(const Advice& advice, const AdviseFlags& flags) {
  if (!advice.best) return "No method of this build fits this text into the free memory.\n";
  std::string command = "--attention " + advice.best->attention;
  if (advice.best->kv_type != flags.session.kv_type)
    command += " --kv-type " + advice.best->kv_type;
  return fmt::format("Try {}: {}.\n", command, advice.best->why);
}

void print_advice(const Advice& a, const AdviseFlags& flags) {
  std::string text = recommendation_line(a, flags);
  const std::string more =
      flags.reply > 0 ? fmt::format(" and {} for question and reply", with_commas(flags.reply))
                      : "";
  text += fmt::format("\n{} tokens{}; the model was trained for {}; {} of memory may be used\n\n",
                      with_commas(a.tokens - flags.reply), more, with_commas(a.trained),
                      format_bytes(a.limit));
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
  text += table.text();
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
  if (a.best) {
    json["recommended"] = {
        {"attention", a.best->attention}, {"kv_type", a.best->kv_type}, {"why", a.best->why}};
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

int run(AdviseFlags flags) {
  const auto documents = read_documents(flags.files, {text_limit(0, flags.session.memory_limit),
                                                      flags.session.memory_limit, flags.pages});
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
  const PrefillTime time = measure(engine, flags.session.options(), tokens, advice);
  advice.methods = all_methods(flags, engine, advice, time);
  const auto fits = [&](const std::string& attention, const std::string& kv_type) {
    SessionFlags session = flags.session;
    session.attention = attention;
    session.kv_type = kv_type;
    return Session(engine, session.options()).has_room(advice.tokens, 0, 0);
  };
  advice.best = recommend(engine->model().shape, advice.tokens, flags.session.chunk,
                          flags.session.kv_type, fits);
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
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->footer("Example:\n  longhaul advise report.pdf -m model.gguf");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
