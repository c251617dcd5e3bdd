#include "reply_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <random>

#include "base/error.h"
#include "engine_thread.h"
#include "grammar/grammar.h"
#include "model_binding.h"

namespace longhaul::python {
namespace {

/// A job as Python holds it. Dropping it cancels the job.
struct PyJob {
  explicit PyJob(std::shared_ptr<PromptJob> given) : job(std::move(given)) {}
  PyJob(PyJob&& other) noexcept = default;
  ~PyJob() {
    if (!job) return;
    job->cancel.request();
    EngineThread::release(std::move(job));
  }
  std::shared_ptr<PromptJob> job;
};

struct PyObservation {
  std::shared_ptr<Observation> seen;
};

uint64_t next_group() {
  static std::atomic<uint64_t> group = 0;
  return ++group;
}

struct ReplyArguments {
  int64_t max_tokens = 1024;
  float temperature = 0, top_p = 0.95f, min_p = 0.05f, repeat_penalty = 1;
  int top_k = 40, repeat_last = 64;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool loops = false, starts_text = true;
  std::string constraint_kind, constraint;
};

grammar::GrammarKind kind_of(const std::string& name) {
  if (name == "json_schema") return grammar::GrammarKind::kJsonSchema;
  if (name == "grammar") return grammar::GrammarKind::kGbnf;
  return grammar::GrammarKind::kRegex;
}

GenerateOptions generate_options(const ReplyArguments& a, const Engine& engine) {
  GenerateOptions options;
  options.sampler.temperature = a.temperature;
  options.sampler.top_k = a.top_k;
  options.sampler.top_p = a.top_p;
  options.sampler.min_p = a.min_p;
  options.sampler.repeat_penalty = a.repeat_penalty;
  options.sampler.repeat_last = a.repeat_last;
  options.sampler.seed = a.seed ? *a.seed : a.temperature > 0 ? std::random_device{}() : 0;
  options.max_tokens = a.max_tokens;
  options.stop = a.stop;
  options.stop_loops = !a.loops;
  options.starts_text = a.starts_text;
  if (!a.constraint_kind.empty()) {
    const auto compiled = grammar::Grammar::compile(a.constraint, kind_of(a.constraint_kind));
    options.constraint.emplace(compiled, grammar::TokenTrie::of(engine.tokenizer()));
  }
  return options;
}

std::shared_ptr<PromptJob> make_job(const std::shared_ptr<OpenModel>& model,
                                    std::vector<int32_t> prompt, int64_t instruction,
                                    const ReplyArguments& arguments) {
  if (prompt.empty()) user_error("the prompt is empty");
  model->engine->check_known(prompt);
  auto job = std::make_shared<PromptJob>();
  job->model = model;
  job->prompt = std::move(prompt);
  job->instruction = instruction;
  job->reply = generate_options(arguments, *model->engine);
  return job;
}

/// A question about a text that was read, or without one (`text` is null).
PyJob ask(const PyModel& m, const PyText* t, const std::string& question, const std::string& system,
          bool raw, const std::string& chat_template, const ReplyArguments& arguments, bool sources,
          const PyObservation* observation, uint64_t group) {
  nb::gil_scoped_release release;
  const std::shared_ptr<OpenModel>& model = m.model;
  const std::shared_ptr<ReadText> text = t == nullptr ? nullptr : t->text;
  PromptParts parts = text ? text->parts : PromptParts{};
  if (!text) {
    parts.system = system;
    parts.form.raw = raw;
    parts.form.chat_template = chat_template;
    parts.check();
  }
  parts.question = question;
  ReplyArguments own = arguments;
  own.starts_text = !parts.form.raw;
  PromptTokens prompt =
      compose_prompt(parts, text ? text->texts : std::vector<std::string>{}, *model->engine);
  auto job = make_job(model, std::move(prompt.tokens), prompt.instruction, own);
  job->group = group;
  if (sources) {
    const ModelShape& shape = model->engine->model().shape;
    job->watch =
        std::make_shared<SourceWatch>(shape, heads_to_watch(shape), std::ssize(job->prompt));
  }
  if (observation != nullptr) {
    job->observer = [seen = observation->seen](const LayerStep& step,
                                               std::span<const AttendTask> tasks) {
      seen->observe(step, tasks);
    };
  }
  if (text) {
    job->open = [text, instruction = job->instruction](const std::vector<int32_t>& tokens) {
      return text->begin(tokens, instruction);
    };
  } else {
    job->open = [engine = model->engine, options = model->options](const std::vector<int32_t>&) {
      return std::make_unique<Sequence>(engine, options);
    };
  }
  EngineThread::shared().submit(job);
  return PyJob(job);
}

/// A prompt of tokens. `kept`: an ended job whose sequence goes on, if it begins in the same way.
PyJob complete(const PyModel& m, std::vector<int32_t> prompt, int64_t instruction,
               const ReplyArguments& arguments, PyJob* kept, bool keeps, uint64_t group) {
  nb::gil_scoped_release release;
  const std::shared_ptr<OpenModel>& model = m.model;
  auto job = make_job(model, std::move(prompt), instruction, arguments);
  job->group = group;
  job->keeps_sequence = keeps;
  std::shared_ptr<PromptJob> before = kept == nullptr ? nullptr : kept->job;
  job->open = [engine = model->engine, options = model->options,
               before](const std::vector<int32_t>& tokens) {
    constexpr size_t kReadAgain = 16;  // so that the last rows are computed as without the cache
    if (before && before->ended() && before->sequence && tokens.size() > kReadAgain) {
      auto sequence = std::make_unique<Sequence>(before->sequence->clone());
      const auto known = std::span(tokens).first(tokens.size() - kReadAgain);
      if (sequence->reuse_prefix(known) > 0) return sequence;
    }
    return std::make_unique<Sequence>(engine, options);
  };
  EngineThread::shared().submit(job);
  return PyJob(job);
}

/// Reads a text; null if there is nothing to read before a question is known.
std::optional<PyJob> read(const PyText& t, const PyText* known) {
  nb::gil_scoped_release release;
  auto job = read_job(t.text, known == nullptr ? nullptr : known->text);
  if (!job) return std::nullopt;
  job->group = next_group();
  EngineThread::shared().submit(job);
  return PyJob(std::move(job));
}

/// The next piece of text, or None at the end. `progress` is called with (done, total, seconds).
nb::object next_piece(PyJob& py, nb::object progress) {
  const std::shared_ptr<PromptJob> job = py.job;
  for (;;) {
    PromptJob::Event event;
    wait_with_signals(
        [&](std::chrono::milliseconds most) {
          event = job->next(most);
          return event.kind != PromptJob::Event::Kind::kNothing;
        },
        job->cancel);
    switch (event.kind) {
      case PromptJob::Event::Kind::kText:
        return nb::cast(event.text);
      case PromptJob::Event::Kind::kProgress:
        if (!progress.is_none()) {
          progress(event.progress.done, event.progress.total, event.progress.seconds_left);
        }
        break;
      default:
        job->check();
        return nb::none();
    }
  }
}

void close_job(PyJob& py) {
  py.job->cancel.request();
  nb::gil_scoped_release release;
  py.job->wait_ended();
}

nb::dict result_of(const PyJob& py) {
  const PromptJob& job = *py.job;
  nb::dict result;
  const Reply& reply = job.result;
  result["text"] = reply.text;
  result["tokens"] = nb::cast(reply.tokens);
  result["stop"] = std::string(name_of(reply.stop));
  result["prompt_tokens"] = std::ssize(job.prompt);
  result["cached_tokens"] = job.reused;
  result["wait_seconds"] = job.wait_seconds;
  result["prefill_seconds"] = job.prefill_seconds;
  result["first_token_seconds"] = job.prefill_seconds + reply.first_token_seconds;
  result["decode_seconds"] = reply.decode_seconds;
  result["tokens_per_second"] = reply.tokens_per_second();
  result["kv_bytes"] = job.report.kv_bytes;
  result["live_rows"] = job.report.live_rows;
  result["pairs_share"] = job.report.pairs_share;
  return result;
}

nb::list list_of(const std::vector<SourcePassage>& passages) {
  nb::list list;
  for (const SourcePassage& p : passages) {
    list.append(nb::make_tuple(p.text, p.begin, p.end, p.share));
  }
  return list;
}

nb::object job_sources(const PyJob& py, const PyText* t, size_t most) {
  if (!py.job->watch) return nb::none();
  ReplySources found;
  {
    nb::gil_scoped_release release;
    found = sources_of(*py.job, t == nullptr ? std::vector<std::string>{} : t->text->texts, most);
  }
  nb::list sentences;
  for (const ReplySources::Sentence& each : found.sentences) {
    sentences.append(nb::make_tuple(each.begin, each.end, list_of(each.passages)));
  }
  nb::dict result;
  result["shown"] = found.shown;
  result["least_share"] = found.least_share;
  result["passages"] = list_of(found.passages);
  result["sentences"] = sentences;
  return result;
}

template <class T>
nb::object numpy_of(std::vector<T> values) {
  auto* held = new std::vector<T>(std::move(values));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

nb::dict take_observation(PyObservation& o) {
  Observation::Seen seen = o.seen->take();
  std::vector<int32_t> layer, head, heads;
  std::vector<int64_t> position, begin, end;
  for (const Observation::Row& row : seen.rows) {
    layer.push_back(row.layer);
    head.push_back(row.head);
    heads.push_back(row.heads);
    position.push_back(row.position);
    begin.push_back(row.begin);
    end.push_back(row.end);
  }
  nb::dict result;
  result["layer"] = numpy_of(std::move(layer));
  result["head"] = numpy_of(std::move(head));
  result["heads"] = numpy_of(std::move(heads));
  result["position"] = numpy_of(std::move(position));
  result["begin"] = numpy_of(std::move(begin));
  result["end"] = numpy_of(std::move(end));
  result["keys"] = numpy_of(std::move(seen.keys));
  result["complete"] = seen.complete;
  result["unknown"] = seen.unknown;
  return result;
}

}  // namespace

void bind_job(nb::module_& m) {
  nb::class_<ReplyArguments>(m, "ReplyArguments")
      .def(nb::init<>())
      .def_rw("max_tokens", &ReplyArguments::max_tokens)
      .def_rw("temperature", &ReplyArguments::temperature)
      .def_rw("top_k", &ReplyArguments::top_k)
      .def_rw("top_p", &ReplyArguments::top_p)
      .def_rw("min_p", &ReplyArguments::min_p)
      .def_rw("repeat_penalty", &ReplyArguments::repeat_penalty)
      .def_rw("repeat_last", &ReplyArguments::repeat_last)
      .def_rw("seed", &ReplyArguments::seed, nb::arg().none())
      .def_rw("stop", &ReplyArguments::stop)
      .def_rw("loops", &ReplyArguments::loops)
      .def_rw("starts_text", &ReplyArguments::starts_text)
      .def_rw("constraint_kind", &ReplyArguments::constraint_kind)
      .def_rw("constraint", &ReplyArguments::constraint);
  nb::class_<PyJob>(m, "Job")
      .def("next", &next_piece, nb::arg("progress").none() = nb::none())
      .def("skip_text", [](const PyJob& job) { job.job->skip_text(); })
      .def("close", &close_job)
      .def_prop_ro("ended", [](const PyJob& job) { return job.job->ended(); })
      .def("result", &result_of)
      .def("sources", &job_sources, nb::arg("text").none(), nb::arg("most"));
  m.def("ask", &ask, nb::arg("model"), nb::arg("text").none(), nb::arg("question"),
        nb::arg("system"), nb::arg("raw"), nb::arg("chat_template"), nb::arg("arguments"),
        nb::arg("sources"), nb::arg("observation").none(), nb::arg("group"));
  m.def("complete", &complete, nb::arg("model"), nb::arg("prompt"), nb::arg("instruction"),
        nb::arg("arguments"), nb::arg("kept").none(), nb::arg("keeps"), nb::arg("group"));
  m.def("read", &read, nb::arg("text"), nb::arg("known").none());
  m.def("take_read", [](const PyText& t, PyJob& job) { take_read(*t.text, *job.job); });
  m.def("next_group", &next_group);
}

void bind_observation(nb::module_& m) {
  nb::class_<PyObservation>(m, "Observation")
      .def("__init__",
           [](PyObservation* self, bool prompts, int64_t most_keys) {
             new (self) PyObservation{std::make_shared<Observation>(prompts, most_keys)};
           })
      .def("take", &take_observation);
}

}  // namespace longhaul::python
