#include "model_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "attention/registry.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "base/parallel.h"
#include "engine/model_names.h"
#include "engine/perplexity.h"
#include "engine/recommend.h"
#include "engine/sampling_defaults.h"
#include "engine_thread.h"
#include "ops/core/isa/isa.h"
#include "reply_binding.h"
#include "tokenizer/chat_request.h"

namespace longhaul::python {
namespace {

nb::dict info_of(const OpenModel& model) {
  const Engine& engine = *model.engine;
  const ModelShape& shape = engine.model().shape;
  const SessionOptions& options = model.options;
  nb::dict info;
  info["name"] = model.name;
  info["layers"] = shape.layers;
  info["query_heads"] = shape.heads;
  info["head_dim"] = shape.head_dim;
  info["trained_context"] = shape.trained_context;
  info["vocab"] = engine.model().config.vocab;
  info["weight_bytes"] = engine.weight_bytes();
  info["attention"] = options.attention.text();
  info["kv_type"] = flag_of(options.kv_type);
  info["ctx"] = options.context;
  info["device"] = options.queue.on_host() ? std::string("cpu") : options.queue.device().name();
  info["threads"] = thread_count();
  info["isa"] = std::string(name_of(current_isa()));
  info["bos"] = engine.tokenizer().bos_id();
  info["eos"] = engine.tokenizer().eos_id();
  info["adds_bos"] = engine.tokenizer().adds_bos();
  return info;
}

PyModel open(const std::string& model, const std::string& attention, const std::string& kv_type,
             const std::string& compute, const std::string& device, const std::string& isa,
             const std::string& profiles, std::vector<std::string> loras, int threads, int chunk,
             int64_t context, size_t memory_limit) {
  nb::gil_scoped_release release;
  return {open_model({model, attention, kv_type, compute, device, isa, profiles, std::move(loras),
                      threads, chunk, context, memory_limit})};
}

nb::dict forecast(const PyModel& m, int64_t tokens, int64_t reply, const std::string& attention,
                  const std::string& kv_type) {
  MemoryForecast forecast;
  bool fits = false;
  size_t limit = 0;
  bool trained = true;
  std::string name;
  {
    nb::gil_scoped_release release;
    const OpenModel& model = *m.model;
    const SessionOptions options = options_with(model, attention, kv_type);
    EngineThread::shared().run([&] {
      const Sequence sequence(model.engine, options);
      forecast = sequence.forecast(tokens, reply);
      fits = sequence.has_room(tokens, reply, 0);
      limit = sequence.memory_limit();
      trained = stays_within_training(sequence.method(), model.engine->model().shape,
                                      tokens + reply, sequence.chunk());
      name = options.attention.text();
    });
  }
  nb::dict row;
  row["attention"] = name;
  row["tokens"] = tokens;
  row["kv_bytes"] = forecast.kv;
  row["working_bytes"] = forecast.working;
  row["weight_bytes"] = forecast.weights;
  row["total_bytes"] = forecast.total();
  row["memory_limit"] = limit;
  row["fits"] = fits;
  row["within_trained_length"] = trained;
  return row;
}

nb::list recommend_methods(const PyModel& m, int64_t tokens, size_t most) {
  std::vector<Recommendation> found;
  {
    nb::gil_scoped_release release;
    const OpenModel& model = *m.model;
    const auto fits = [&](const std::string& attention, const std::string& kv_type) {
      bool fit = false;
      const SessionOptions options = options_with(model, attention, kv_type);
      EngineThread::shared().run(
          [&] { fit = Sequence(model.engine, options).has_room(tokens, 0, 0); });
      return fit;
    };
    found = recommendations(model.engine->model().shape, tokens, model.options.chunk,
                            flag_of(model.options.kv_type), fits, most);
  }
  nb::list list;
  for (const Recommendation& each : found) {
    nb::dict row;
    row["attention"] = each.attention;
    row["kv_type"] = each.kv_type;
    row["why"] = each.why;
    list.append(row);
  }
  return list;
}

std::string text_of_bytes(nb::handle text) {
  if (nb::isinstance<nb::bytes>(text)) {
    const auto bytes = nb::cast<nb::bytes>(text);
    return {bytes.c_str(), bytes.size()};
  }
  return nb::cast<std::string>(text);
}

nb::list tokenize(const PyModel& m, nb::handle text, bool add_bos, bool special) {
  const std::string plain = text_of_bytes(text);
  std::vector<int32_t> tokens;
  {
    nb::gil_scoped_release release;
    tokens = m.model->engine->tokenizer().encode(
        plain, {.add_special = add_bos, .parse_special = special});
  }
  nb::list list;
  for (const int32_t token : tokens) list.append(token);
  return list;
}

nb::bytes detokenize(const PyModel& m, nb::handle list, bool special) {
  const std::string text = m.model->engine->tokenizer().decode(tokens_of(list), !special);
  return nb::bytes(text.data(), text.size());
}

std::pair<std::vector<int32_t>, int64_t> chat_tokens(const PyModel& m, const std::string& messages,
                                                     const std::string& tools,
                                                     const std::string& variables,
                                                     const std::string& question,
                                                     bool add_generation_prompt) {
  nb::gil_scoped_release release;
  ChatRequest request;
  request.messages = nlohmann::ordered_json::parse(messages);
  if (!tools.empty()) request.tools = nlohmann::ordered_json::parse(tools);
  if (!variables.empty()) request.variables = nlohmann::ordered_json::parse(variables);
  request.add_generation_prompt = add_generation_prompt;
  const Engine& engine = *m.model->engine;
  const PromptText prompt{engine.chat_template().segments(request), false};
  PromptTokens made = prompt_tokens(engine.tokenizer(), prompt, question);
  return {std::move(made.tokens), made.instruction};
}

std::string chat_text(const PyModel& m, const std::string& messages, bool add_generation_prompt) {
  nb::gil_scoped_release release;
  ChatRequest request;
  request.messages = nlohmann::ordered_json::parse(messages);
  request.add_generation_prompt = add_generation_prompt;
  return PromptText{m.model->engine->chat_template().segments(request), false}.text();
}

nb::list score(const PyModel& m, nb::handle context, nb::list continuations) {
  const std::vector<int32_t> tokens = tokens_of(context);
  std::vector<std::vector<int32_t>> more;
  for (nb::handle each : continuations) more.push_back(tokens_of(each));
  std::vector<Continuation> scores;
  CancelFlag cancel;
  std::future<void> done = EngineThread::shared().post(
      [&] { scores = score_continuations(*m.model, tokens, more, cancel); });
  wait_with_signals(
      [&](std::chrono::milliseconds most) {
        return done.wait_for(most) == std::future_status::ready;
      },
      cancel);
  done.get();
  nb::list list;
  for (const Continuation& each : scores) {
    list.append(nb::make_tuple(each.sum, each.greedy, each.tokens));
  }
  return list;
}

PromptParts parts_of(const std::string& system, bool raw, const std::string& chat_template) {
  PromptParts parts;
  parts.system = system;
  parts.form.raw = raw;
  parts.form.chat_template = chat_template;
  return parts;
}

nb::dict dict_of(const Document& document) {
  nb::dict item;
  item["name"] = document.name;
  item["text"] = document.text;
  item["made"] = document.made;
  item["in_paragraphs"] = document.in_paragraphs;
  nb::list headings;
  for (const Heading& each : document.headings) {
    headings.append(nb::make_tuple(each.offset, each.text));
  }
  item["headings"] = headings;
  return item;
}

PyText describe(const PyModel& m, const std::vector<std::string>& files,
                const std::vector<std::pair<std::string, std::string>>& texts,
                const std::string& pages, const std::string& system, bool raw,
                const std::string& chat_template, const std::string& attention,
                const std::string& kv_type) {
  nb::gil_scoped_release release;
  const SessionOptions options = options_with(*m.model, attention, kv_type);
  DocumentOptions limits{text_limit(options.context, options.memory_limit), options.memory_limit,
                         pages.empty() ? PageRanges() : PageRanges::parse(pages)};
  std::vector<Document> documents;
  if (!files.empty()) documents = read_documents(files, limits);
  for (const auto& [name, text] : texts) documents.push_back({name, text, ""});
  return {
      describe_text(m.model, options, parts_of(system, raw, chat_template), std::move(documents))};
}

PyText fork(const PyText& t, const std::string& attention, const std::string& kv_type) {
  nb::gil_scoped_release release;
  const ReadText& text = *t.text;
  SessionOptions options = text.options;
  const SessionOptions wanted = options_with(*text.model, attention, kv_type);
  if (!attention.empty()) options.attention = wanted.attention;
  if (!kv_type.empty()) options.kv_type = wanted.kv_type;
  return {describe_text(text.model, options, text.parts, text.documents)};
}

PyText load(const PyModel& m, const std::string& file, const std::string& system, bool raw,
            const std::string& chat_template, const std::string& attention,
            const std::string& kv_type) {
  nb::gil_scoped_release release;
  return {load_text(m.model, options_with(*m.model, attention, kv_type),
                    parts_of(system, raw, chat_template), file)};
}

/// The logits after the last token, as an array that keeps the text alive.
nb::object logits_of(const PyText& t) {
  const ReadText& text = *t.text;
  if (!text.sequence) {
    user_error("logits: {} reads the text with each question, so there are none before one",
               text.options.attention.text());
  }
  const std::span<const float> logits = text.sequence->logits();
  auto* held = new std::shared_ptr<ReadText>(t.text);
  const nb::capsule owner(
      held, [](void* p) noexcept { delete static_cast<std::shared_ptr<ReadText>*>(p); });
  const nb::ndarray<nb::numpy, const float, nb::ndim<1>> array(logits.data(), {logits.size()},
                                                               owner);
  return nb::cast(array);
}

nb::list text_tokens(const PyText& t) {
  nb::list list;
  for (const int32_t token : t.text->tokens) list.append(token);
  return list;
}

/// The warning for a text beyond the trained length; empty if there is none.
std::string warning_of(const PyText& t) {
  const ReadText& text = *t.text;
  const ModelShape& shape = text.model->engine->model().shape;
  const int64_t tokens = std::ssize(text.tokens);
  const auto method = text.options.attention.make(shape);
  const int chunk = chunk_of(text.options.chunk, *method, text.options.queue);
  const int64_t reach = method->reach(tokens, chunk);
  if (shape.trained_context == 0 || reach <= shape.trained_context) return "";
  const auto any = [](const std::string&, const std::string&) { return true; };
  const auto best =
      recommend(shape, tokens, text.options.chunk, flag_of(text.options.kv_type), any);
  return fmt::format(
      "{} tokens are more than the {} that this model was trained for: with attention=\"{}\" "
      "expect wrong answers{}",
      tokens, shape.trained_context, text.options.attention.text(),
      best ? fmt::format("; attention=\"{}\" goes further", best->attention) : "");
}

nb::object memory_of(const PyText& t) {
  const ReadText& text = *t.text;
  nb::dict report;
  report["tokens"] = std::ssize(text.tokens);
  report["attention"] = text.options.attention.text();
  report["kv_type"] = flag_of(text.options.kv_type);
  report["any_question"] = text.any_question;
  SessionReport facts;
  if (text.sequence) {
    nb::gil_scoped_release release;
    EngineThread::shared().run([&] { facts = text.sequence->report(); });
  }
  report["kv_bytes"] = facts.kv_bytes;
  report["live_rows"] = facts.live_rows;
  report["pairs_share"] = facts.pairs_share;
  report["attention_seconds"] = facts.attention_seconds;
  return report;
}

nb::list methods() {
  nb::list list;
  for (const MethodInfo& each : attention_methods()) {
    nb::dict row;
    row["name"] = each.name;
    row["summary"] = each.summary;
    row["when"] = each.when;
    row["keeps"] = each.keeps;
    row["harms"] = each.harms;
    row["paper"] = each.paper;
    list.append(row);
  }
  return list;
}

nb::list models() {
  nb::list list;
  for (const NamedModel& each : models_at_hand()) {
    list.append(nb::make_tuple(each.name, each.path.string()));
  }
  return list;
}

}  // namespace

std::vector<int32_t> tokens_of(nb::handle list) {
  std::vector<int32_t> tokens;
  for (nb::handle item : nb::iter(list)) tokens.push_back(nb::cast<int32_t>(item));
  return tokens;
}

void bind_model(nb::module_& m) {
  nb::class_<PyModel>(m, "Model")
      .def_prop_ro("info", [](const PyModel& model) { return info_of(*model.model); })
      .def("tokenize", &tokenize, nb::arg("text"), nb::arg("add_bos"), nb::arg("special"))
      .def("detokenize", &detokenize, nb::arg("tokens"), nb::arg("special"))
      .def("chat_tokens", &chat_tokens)
      .def("chat_text", &chat_text)
      .def("forecast", &forecast)
      .def("recommend", &recommend_methods)
      .def("score", &score)
      .def("describe", &describe)
      .def("load", &load)
      .def("sampling_defaults", [](const PyModel& model) -> nb::object {
        const auto found = sampling_defaults(model.model->engine->checkpoint());
        if (!found) return nb::none();
        nb::dict row;
        row["temperature"] = found->sampler.temperature;
        row["top_k"] = found->sampler.top_k;
        row["top_p"] = found->sampler.top_p;
        row["min_p"] = found->sampler.min_p;
        row["repeat_penalty"] = found->sampler.repeat_penalty;
        return row;
      });
  m.def("open", &open);
  m.def("methods", &methods);
  m.def("models", &models);
  m.def("default_model", &default_model);
  m.def("nearest_name_hint", [](const std::string& name, const std::vector<std::string>& names) {
    return nearest_name_hint(name, names);
  });
}

void bind_text(nb::module_& m) {
  nb::class_<PyText>(m, "Text")
      .def_prop_ro("tokens", &text_tokens)
      .def_prop_ro("documents",
                   [](const PyText& t) {
                     nb::list list;
                     for (const Document& each : t.text->documents) list.append(dict_of(each));
                     return list;
                   })
      .def_prop_ro("report", &memory_of)
      .def_prop_ro("warning", &warning_of)
      .def("logits", &logits_of)
      .def("fork", &fork)
      .def("save", [](const PyText& t, const std::string& file) {
        nb::gil_scoped_release release;
        save_text(*t.text, file);
      });
}

}  // namespace longhaul::python
