#include "serve/api/common_fields.h"

#include <random>

#include "base/parse_number.h"
#include "serve/api/api_error.h"
#include "serve/api/cache_fields.h"
#include "serve/api/reply_form.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostStops = 16, kMostBiases = 1024, kLongestStop = 4096,
                 kLongestConversation = 256;

/// The token that a key or an entry of logit_bias names.
int32_t bias_token(const ServedModel& model, int64_t id) {
  const int64_t vocab = model.engine->model().config.vocab;
  if (id < 0 || id >= vocab) refuse_field("logit_bias", "{} is no token of this model", id);
  return static_cast<int32_t>(id);
}

float bias_value(const Json& value) {
  if (value.is_boolean() && !value.get<bool>()) return -1e9f;  // llama-server: never
  if (!value.is_number()) refuse_field("logit_bias", "a bias is no number");
  const double bias = value.get<double>();
  if (!(bias >= -1e9 && bias <= 1e9)) refuse_field("logit_bias", "{} is no bias", bias);
  return static_cast<float>(bias);
}

void bias_text(const ServedModel& model, const std::string& text, float bias,
               std::map<int32_t, float>& biases) {
  for (const int32_t token : model.engine->tokenizer().encode(text, {.add_special = false})) {
    biases[token] = bias;
  }
}

/// An object {"id or text": bias}, or llama-server's list of [id or text, bias].
void read_bias(const ServedModel& model, const Json& value, std::map<int32_t, float>& biases) {
  if (value.size() > kMostBiases) {
    refuse_field("logit_bias", "{} entries; at most {}", value.size(), kMostBiases);
  }
  if (value.is_object()) {
    for (const auto& [name, bias] : value.items()) {
      int64_t id = 0;
      if (parse_number(name, id)) {
        biases[bias_token(model, id)] = bias_value(bias);
      } else {
        bias_text(model, name, bias_value(bias), biases);
      }
    }
    return;
  }
  if (!value.is_array()) refuse_field("logit_bias", "is no object");
  for (const Json& entry : value) {
    if (!entry.is_array() || entry.size() != 2) {
      refuse_field("logit_bias", "an entry is no pair of a token and a bias");
    }
    const float bias = bias_value(entry[1]);
    if (entry[0].is_string()) {
      bias_text(model, entry[0].get<std::string>(), bias, biases);
    } else {
      const int64_t id = integer_of(entry[0], "logit_bias", 0, int64_t{1} << 31);
      biases[bias_token(model, id)] = bias;
    }
  }
}

void read_sampler(const FieldReader& fields, SamplerOptions& sampler) {
  fields.number("temperature", 0, 100, sampler.temperature);
  fields.integer("top_k", -1, 1 << 30, sampler.top_k);
  fields.number("top_p", 0, 1, sampler.top_p);
  fields.number("min_p", 0, 1, sampler.min_p);
  fields.number("repeat_penalty", 0.01, 100, sampler.repeat_penalty);
  fields.integer("repeat_last_n", 0, 1 << 30, sampler.repeat_last);
}

}  // namespace

std::vector<std::string_view> common_members() {
  return {"cache_salt",
          "longhaul",
          "model",
          "attention",
          "stream",
          "stream_options",
          "temperature",
          "top_k",
          "top_p",
          "min_p",
          "repeat_penalty",
          "repeat_last_n",
          "presence_penalty",
          "frequency_penalty",
          "seed",
          "stop",
          "n",
          "logit_bias",
          "ignore_eos",
          "return_progress",
          "timings_per_token",
          "session",
          "id_slot",
          "prompt_cache_key",
          "cache_prompt",
          "kv_type",
          "lora",
          "modalities",
          "audio",
          "response_format",
          "grammar",
          "json_schema",
          "structured_outputs",
          "return_tokens",
          "sources"};
}

std::vector<std::string> stop_texts(const Json* value, const std::string& name) {
  std::vector<std::string> stops;
  const auto add = [&](const Json& text) {
    if (!text.is_string()) refuse_field(name, "is neither a text nor a list of texts");
    stops.push_back(text.get<std::string>());
    if (stops.back().size() > kLongestStop) {
      refuse_field(name, "a text is longer than {} bytes", kLongestStop);
    }
  };
  if (value == nullptr) return stops;
  if (!value->is_array()) {
    add(*value);
    return stops;
  }
  if (value->size() > kMostStops) {
    refuse_field(name, "{} texts; at most {}", value->size(), kMostStops);
  }
  for (const Json& text : *value) add(text);
  return stops;
}

void refuse_unsupported(const ServedModel& model, const FieldReader& fields) {
  if (const Json* kinds = fields.find("modalities")) {
    if (*kinds != Json::array({"text"})) refuse_field("modalities", "this model writes text only");
  }
  if (fields.has("audio")) refuse_field("audio", "this model writes text only");
  if (const auto type = fields.text("kv_type"); type && *type != model.kv_type) {
    refuse_field("kv_type", "this server keeps keys and values as {}", model.kv_type);
  }
  if (const Json* adapters = fields.find("lora"); adapters != nullptr && !adapters->empty()) {
    refuse_field("lora", "an adapter is part of the model's name: {}+ADAPTER", model.name);
  }
}

void read_common(const ServedModel& model, const http::HttpRequest& http, const Json& body,
                 const std::string& key, GenerationRequest& request, Job& job) {
  const FieldReader fields(body);
  refuse_unsupported(model, fields);
  std::string conversation;
  for (const char* name : {"session", "prompt_cache_key"}) {
    if (conversation.empty()) conversation = fields.text(name).value_or("");
  }
  const auto slot = fields.integer("id_slot", -1, 1 << 20);  // as llama-server has it
  if (conversation.empty() && slot.value_or(-1) >= 0) conversation = fmt::format("slot-{}", *slot);
  begin_job(model, http, fields, key, conversation, request, job);
  request.stream = fields.boolean("stream").value_or(false);
  if (const Json* options = fields.find("stream_options")) {
    if (!options->is_object()) refuse_field("stream_options", "is no object");
    request.include_usage = FieldReader(*options).boolean("include_usage").value_or(false);
  }
  request.progress = fields.boolean("return_progress").value_or(false) && request.stream;
  request.timings_per_token = fields.boolean("timings_per_token").value_or(false);
  request.sources = job.sources = fields.boolean("sources").value_or(false);
  request.return_tokens = fields.boolean("return_tokens").value_or(false);
  fields.integer("n", 1, 8, request.choices);

  job.choices = request.choices;
  job.progress = request.progress;
  job.reuse = fields.boolean("cache_prompt").value_or(true);
  read_cache_fields(fields, job);
  read_sampler(fields, job.reply.sampler);
  settle_seed(fields.integer("seed", -1, std::numeric_limits<int64_t>::max()), request, job);
  fields.number("presence_penalty", -100, 100, job.reply.presence_penalty);
  fields.number("frequency_penalty", -100, 100, job.reply.frequency_penalty);
  job.reply.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  job.reply.constraint = read_reply_form(model, fields);
  job.reply.stop = stop_texts(fields.find("stop"), "stop");
  if (const Json* bias = fields.find("logit_bias")) read_bias(model, *bias, job.reply.logit_bias);
}

void begin_job(const ServedModel& model, const http::HttpRequest& http, const FieldReader& fields,
               const std::string& key, const std::string& conversation, GenerationRequest& request,
               Job& job) {
  request.model = fields.text("model").value_or("");
  ModelChoice choice =
      choice_of_request(model, request.model, fields.text("attention").value_or(""));
  request.attention = job.attention = std::move(choice.attention);
  request.adapter = job.adapter = std::move(choice.adapter);
  if (request.model.empty()) request.model = model.name;
  job.key = key;
  job.conversation = conversation.substr(0, kLongestConversation);
  for (const char* name : {"X-Conversation-Id", "X-Session-Id"}) {
    const std::string_view value = http.field(name);
    if (!value.empty()) job.conversation = value.substr(0, kLongestConversation);
  }
  job.reply.sampler = model.sampler;
}

void settle_seed(std::optional<int64_t> seed, GenerationRequest& request, Job& job) {
  SamplerOptions& sampler = job.reply.sampler;
  if (sampler.temperature <= 0) return;
  sampler.seed = seed && *seed >= 0 ? static_cast<uint64_t>(*seed) : std::random_device{}();
  request.seed = sampler.seed;
}

void settle_length(const ServedModel& model, GenerationRequest& request, Job& job) {
  const int64_t trained = model.trained(request.adapter);
  if (model.context == 0 && trained > 0) {
    job.reply.open_limit = std::max<int64_t>(1024, trained - std::ssize(job.prompt));
  }
  if (trained > 0 && std::ssize(job.prompt) > trained) {
    const auto made = request.attention.make(model.engine->model().shape);
    const int64_t reach = made->reach(std::ssize(job.prompt), model.session.chunk);
    if (reach > trained) {
      request.warnings.push_back(
          fmt::format("rows see up to {} tokens back, more than the {} that this model was trained "
                      "for: expect wrong answers",
                      reach, trained));
    }
  }
}

}  // namespace longhaul::serve
