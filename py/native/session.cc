#include "session.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "base/paths.h"
#include "engine/device_choice.h"
#include "engine/known_profiles.h"
#include "engine/loaded_text.h"
#include "engine/model_names.h"
#include "engine/passages.h"
#include "engine_thread.h"
#include "ops/core/devices.h"
#include "ops/core/isa/isa.h"
#include "text/printable.h"
#include "tokenizer/detokenizer.h"

namespace longhaul::python {
namespace {

constexpr int kMostThreads = 1024;

/// "FILE" or "FILE:SCALE".
AdapterSource adapter_of(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || is_there(text)) return {text, 1};
  double weight = 0;
  try {
    size_t used = 0;
    weight = std::stod(text.substr(colon + 1), &used);
    if (used != text.size() - colon - 1 || !std::isfinite(weight)) throw std::invalid_argument("");
  } catch (const std::logic_error&) {
    user_error("lora={}: {} is no number", printable(text), printable(text.substr(colon + 1)));
  }
  return {text.substr(0, colon), weight};
}

KvType kv_type_of(const std::string& name) {
  const auto type = kv_type_from_name(name);
  if (!type) user_error("kv_type={}: it is {}", printable(name), kv_type_names());
  return *type;
}

}  // namespace

std::shared_ptr<OpenModel> open_model(const ModelSettings& s) {
  if (s.threads < 0 || s.threads > kMostThreads) {
    user_error("threads={}: it is between 0 and {}", s.threads, kMostThreads);
  }
  if (s.chunk < 0) user_error("chunk={}: it is at least 0", s.chunk);
  if (s.context < 0) user_error("ctx={}: it is at least 0", s.context);
  if (s.threads > 0) set_thread_count(s.threads);
  if (!s.isa.empty()) {
    const auto isa = isa_from_name(s.isa);
    if (!isa) user_error("isa={}: no such instruction set", printable(s.isa));
    set_isa(*isa);
  }
  auto model = std::make_shared<OpenModel>();
  SessionOptions& options = model->options;
  options.attention = MethodSpec::parse(s.attention);
  options.kv_type = kv_type_of(s.kv_type);
  const auto compute = compute_from_name(s.compute);
  if (!compute) {
    user_error("compute={}: it is best, int8, fp8 or f32", printable(s.compute));
  }
  options.compute = *compute;
  options.chunk = s.chunk;
  options.context = s.context;
  options.memory_limit = s.memory_limit;
  const bool only_host =
      s.device == "auto" && options.compute != Compute::kBest && options.compute != Compute::kFp8;
  options.queue = open_device(only_host ? "cpu" : s.device);
  ModelSource source = find_model_source(s.model);
  for (const std::string& lora : s.loras) source.adapters.push_back(adapter_of(lora));
  if (!s.profiles.empty()) source.profiles = find_profiles(s.profiles);
  model->name = s.model;
  model->engine = Engine::open(source);
  if (s.device == "auto" && !options.queue.on_host()) {
    settle_device(model->engine, {&options, 1}, 0, 0);
  }
  options.attention.make(model->engine->model().shape);  // refuses what the model does not support
  return model;
}

SessionOptions options_with(const OpenModel& model, const std::string& attention,
                            const std::string& kv_type) {
  SessionOptions options = model.options;
  if (!attention.empty()) options.attention = MethodSpec::parse(attention);
  if (!kv_type.empty()) options.kv_type = kv_type_of(kv_type);
  return options;
}

OpenModel::~OpenModel() {
  if (scored) EngineThread::release(std::shared_ptr<Sequence>(std::move(scored)));
  if (runners) EngineThread::release(std::shared_ptr<Runners>(std::move(runners)));
}

ReadText::~ReadText() {
  if (sequence) EngineThread::release(std::shared_ptr<Sequence>(std::move(sequence)));
}

std::unique_ptr<Sequence> ReadText::begin(const std::vector<int32_t>& prompt,
                                          int64_t instruction) const {
  if (sequence && any_question) {
    auto clone = std::make_unique<Sequence>(sequence->clone());
    clone->reuse_prefix(prompt);
    return clone;
  }
  auto fresh = std::make_unique<Sequence>(model->engine, options);
  if (sequence) fresh->begin_with(sequence->copy_context(), prompt, instruction);
  return fresh;
}

std::shared_ptr<ReadText> describe_text(const std::shared_ptr<OpenModel>& model,
                                        const SessionOptions& options, PromptParts parts,
                                        std::vector<Document> documents) {
  parts.check();
  auto text = std::make_shared<ReadText>();
  text->model = model;
  text->options = options;
  text->parts = std::move(parts);
  text->documents = std::move(documents);
  text->texts = texts_of(text->documents);
  text->tokens = compose_before_question(text->parts, text->texts, *model->engine);
  const auto driver = options.attention.make(model->engine->model().shape);
  text->any_question = serves_any_question(driver->prompt_choice());
  return text;
}

std::shared_ptr<PromptJob> read_job(const std::shared_ptr<ReadText>& text,
                                    const std::shared_ptr<ReadText>& known) {
  const OpenModel& model = *text->model;
  SessionOptions options = text->options;
  if (!text->any_question) {
    const auto driver = options.attention.make(model.engine->model().shape);
    const int chunk = chunk_of(options.chunk, *driver, options.queue);
    const PromptFacts some{0, std::ssize(text->tokens) + 16, 16, chunk, {}};
    if (driver->dense_prefix(some) == 0) return nullptr;
    options.attention = MethodSpec::parse("dense");
  }
  auto job = std::make_shared<PromptJob>();
  job->model = text->model;
  job->prompt = text->tokens;
  job->keeps_sequence = true;
  job->open = [engine = model.engine, options, known](const std::vector<int32_t>& prompt) {
    const bool is_dense = known && known->sequence &&
                          known->sequence->options().attention.text() == "dense" &&
                          known->options.kv_type == options.kv_type;
    if (is_dense && options.attention.text() == "dense") {
      auto clone = std::make_unique<Sequence>(known->sequence->clone());
      clone->reuse_prefix(prompt);
      return clone;
    }
    auto fresh = std::make_unique<Sequence>(engine, options);
    if (is_dense) fresh->begin_with(known->sequence->copy_context(), prompt);
    return fresh;
  };
  return job;
}

void take_read(ReadText& text, PromptJob& job) { text.sequence = std::move(job.sequence); }

std::shared_ptr<ReadText> load_text(const std::shared_ptr<OpenModel>& model,
                                    const SessionOptions& options, PromptParts parts,
                                    const std::string& file) {
  if (!is_file(file)) user_error("{}: no such file", file);
  parts.check();
  auto text = std::make_shared<ReadText>();
  text->model = model;
  text->options = options;
  text->parts = std::move(parts);
  LoadedText loaded;
  EngineThread::shared().run([&] {
    Session session(model->engine, options);
    session.load(file);
    if (text->parts.form.raw) {
      loaded.text = model->engine->tokenizer().decode(session.tokens(), false);
    } else {
      loaded = text_of_loaded(session, text->parts, file);
    }
    text->sequence = std::make_unique<Sequence>(std::move(session.sequence()));
  });
  if (loaded.text.empty()) user_error("{}: it holds no text", file);
  text->documents = {{"the text in " + file, std::move(loaded.text), ""}};
  text->texts = texts_of(text->documents);
  const auto tokens = text->sequence->tokens();
  text->tokens.assign(tokens.begin(), tokens.end());
  return text;
}

void save_text(const ReadText& text, const std::string& file) {
  if (!text.sequence || !text.any_question) {
    user_error(
        "save: {} chooses by the question what it keeps of the text, so there is nothing to save "
        "before one; fork(attention=\"dense\") can be saved",
        text.options.attention.text());
  }
  EngineThread::shared().run([&] { text.sequence->save(file); });
}

ReplySources sources_of(const PromptJob& job, const std::vector<std::string>& texts, size_t most) {
  const Engine& engine = *job.model->engine;
  const Tokenizer& tokenizer = engine.tokenizer();
  const std::vector<int32_t>& reply = job.result.tokens;
  const bool starts_text = job.reply->starts_text;
  const PassageFinder finder(tokenizer, job.prompt, texts);
  const auto plain = [](const std::vector<Passage>& found) {
    std::vector<SourcePassage> passages;
    for (const Passage& p : found) {
      passages.push_back({p.text, p.range.begin, p.range.end, p.share});
    }
    return passages;
  };
  ReplySources sources;
  sources.shown = job.watch->saw_anything();
  sources.least_share = least_share_of_first_passage(engine.model().shape);
  sources.passages = plain(finder.passages(*job.watch, reply, 0, reply.size(), most));
  Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = starts_text});
  std::vector<size_t> ends;
  std::string decoded;
  for (const int32_t token : reply) {
    decoded += detokenizer.push(token);
    ends.push_back(decoded.size());
  }
  for (const ByteRange& sentence : sentences_of(decoded)) {
    const auto first = std::ranges::upper_bound(ends, sentence.begin) - ends.begin();
    const auto last = std::ranges::upper_bound(ends, sentence.end) - ends.begin();
    sources.sentences.push_back(
        {sentence.begin, sentence.end,
         plain(finder.passages(*job.watch, reply, static_cast<size_t>(first),
                               static_cast<size_t>(last), most))});
  }
  return sources;
}

}  // namespace longhaul::python
