// Bodies of Ollama's POST /api/chat and /api/generate.

#include <map>
#include <set>

#include "serve/api/api_error.h"
#include "serve/api/common_fields.h"
#include "serve/api/conversation.h"
#include "serve/api/ollama.h"
#include "serve/api/renamed_field.h"
#include "serve/api/reply_form.h"
#include "serve/documents/asked_documents.h"
#include "serve/output/sources.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kMostPredicted = int64_t{1} << 31, kAnyHistory = int64_t{1} << 30;

/// Options about memory and speed, which belong to the server here.
constexpr std::string_view kServerOptions[] = {
    "num_ctx",    "num_batch",      "num_gpu",          "main_gpu",     "num_thread",  "num_keep",
    "use_mmap",   "use_mlock",      "low_vram",         "f16_kv",       "vocab_only",  "numa",
    "logits_all", "embedding_only", "penalize_newline", "mirostat_tau", "mirostat_eta"};
constexpr std::string_view kReadOptions[] = {"temperature",
                                             "top_k",
                                             "top_p",
                                             "min_p",
                                             "repeat_penalty",
                                             "repeat_last_n",
                                             "presence_penalty",
                                             "frequency_penalty",
                                             "seed",
                                             "stop",
                                             "num_predict",
                                             "typical_p",
                                             "tfs_z",
                                             "mirostat"};

template <class List>
bool is_listed(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// Samplers that this server does not have are refused unless they are switched off.
void refuse_samplers(const FieldReader& options) {
  for (const char* name : {"typical_p", "tfs_z"}) {
    if (options.number(name, 0, 1e6).value_or(1) != 1) refuse_field(name, "only 1 is supported");
  }
  if (options.integer("mirostat", 0, 2).value_or(0) != 0) {
    refuse_field("mirostat", "only 0 is supported");
  }
}

void read_options(const Json& given, GenerationRequest& request, Job& job) {
  if (!given.is_object()) refuse_field("options", "is no object");
  for (const auto& [name, value] : given.items()) {
    if (is_listed(kServerOptions, name) || is_listed(kReadOptions, name)) continue;
    request.warnings.push_back(
        fmt::format("options.{}: is unknown", one_line(std::string_view(name).substr(0, 64))));
  }
  const FieldReader options(given);
  in_member("options.", [&] {
    refuse_samplers(options);
    SamplerOptions& sampler = job.reply.sampler;
    options.number("temperature", 0, 100, sampler.temperature);
    options.integer("top_k", -1, kAnyHistory, sampler.top_k);
    options.number("top_p", 0, 1, sampler.top_p);
    options.number("min_p", 0, 1, sampler.min_p);
    options.number("repeat_penalty", 0.01, 100, sampler.repeat_penalty);
    if (const auto last = options.integer("repeat_last_n", -1, kAnyHistory)) {
      sampler.repeat_last =
          static_cast<decltype(sampler.repeat_last)>(*last < 0 ? kAnyHistory : *last);
    }
    options.number("presence_penalty", -100, 100, job.reply.presence_penalty);
    options.number("frequency_penalty", -100, 100, job.reply.frequency_penalty);
    job.reply.stop = stop_texts(options.find("stop"), "stop");
    options.integer("num_predict", -2, kMostPredicted, job.reply.max_tokens);
  });
}

std::optional<int64_t> seed_of(const FieldReader& fields) {
  std::optional<int64_t> seed;
  const Json* options = fields.find("options");
  if (options == nullptr) return seed;
  in_member("options.", [&] {
    seed = FieldReader(*options).integer("seed", -1, std::numeric_limits<int64_t>::max());
  });
  return seed;
}

/// "format": "json", a schema, or an empty text.
void read_format(const ServedModel& model, const FieldReader& fields, Job& job) {
  const Json* format = fields.find("format");
  if (format == nullptr || *format == "") return;
  Json form;
  if (*format == "json") {
    form["response_format"] = {{"type", "json_object"}};
  } else if (format->is_object()) {
    form["json_schema"] = *format;
  } else {
    refuse_field("format", "is neither \"json\" nor a JSON schema");
  }
  renamed_field({{"json_schema", "format"}, {"response_format", "format"}},
                [&] { job.reply.constraint = read_reply_form(model, FieldReader(form)); });
}

void read_think(const FieldReader& fields, Conversation& conversation) {
  const Json* think = fields.find("think");
  if (think == nullptr) return;
  if (think->is_boolean()) {
    conversation.thinking = think->get<bool>();
  } else if (*think == "low" || *think == "medium" || *think == "high") {
    conversation.thinking = true;
    conversation.effort = think->get<std::string>();
  } else {
    refuse_field("think", "is not true, false, \"low\", \"medium\" or \"high\"");
  }
}

void read_ollama_logprobs(const FieldReader& fields, GenerationRequest& request, Job& job) {
  request.logprobs = fields.boolean("logprobs").value_or(false);
  fields.integer("top_logprobs", 0, 20, request.best);
  request.logprobs |= request.best > 0;
  if (request.logprobs) job.reply.logprobs = request.best;
}

void refuse_images(const Json& owner, const std::string& where) {
  const auto images = owner.find("images");
  if (images == owner.end() || images->is_null()) return;
  if (images->is_array() && images->empty()) return;
  refuse_field(where + "images", "this model reads text only");
}

/// Members that both paths have, except for those of the prompt.
void read_shared(const ServedModel& model, const http::HttpRequest& http, const FieldReader& fields,
                 const std::string& key, GenerationRequest& request, Job& job) {
  if (fields.text("model").value_or("").empty()) refuse_field("model", "is missing");
  begin_job(model, http, fields, key, fields.text("session").value_or(""), request, job);
  request.stream = fields.boolean("stream").value_or(true);
  job.progress = request.progress = request.stream;
  if (const Json* options = fields.find("options")) read_options(*options, request, job);
  settle_seed(seed_of(fields), request, job);
  read_format(model, fields, job);
  read_ollama_logprobs(fields, request, job);
}

/// Messages of Ollama as messages of a conversation. Its calls have no ids, so that results belong
/// to calls by the name of the function or by their order.
class OllamaMessages {
 public:
  void read(const Json& message, const std::string& where) {
    if (!message.is_object()) refuse_field(where, "is no object");
    const FieldReader fields(message);
    std::string role, content, thought;
    in_member(where + ".", [&] {
      role = fields.text("role").value_or("");
      content = fields.text("content").value_or("");
      thought = fields.text("thinking").value_or("");
    });
    refuse_images(message, where + ".");
    if (role == "assistant") return read_turn(fields, content, thought, where);
    if (role == "tool") return read_tool_result(fields, content, where);
    if (role != "system" && role != "user") {
      refuse_field(where + ".role", "{} is not system, user, assistant or tool",
                   printable(role.substr(0, 64)));
    }
    messages_.push_back({{"role", role}, {"content", content}});
  }

  Json take() { return std::move(messages_); }

 private:
  struct MadeCall {
    std::string id, function;
    bool answered = false;
  };

  void read_turn(const FieldReader& fields, const std::string& content, const std::string& thought,
                 const std::string& where) {
    Json turn = {{"role", "assistant"}, {"content", content}};
    if (!thought.empty()) turn["reasoning_content"] = thought;
    const Json* given = fields.find("tool_calls");
    if (given == nullptr || (given->is_array() && given->empty())) {
      messages_.push_back(std::move(turn));
      return;
    }
    Json calls = *given;
    check_calls(calls, where + ".tool_calls");
    for (Json& call : calls) {
      if (!call.contains("id") || call["id"].is_null() || call["id"] == "") {
        call["id"] = fmt::format("call_{}", calls_.size());
      }
      call["type"] = "function";
      calls_.push_back({call["id"], call["function"]["name"]});
    }
    turn["tool_calls"] = std::move(calls);
    messages_.push_back(std::move(turn));
  }

  void read_tool_result(const FieldReader& fields, const std::string& content,
                        const std::string& where) {
    std::string id, name;
    in_member(where + ".", [&] {
      id = fields.text("tool_call_id").value_or("");
      name = fields.text("tool_name").value_or(fields.text("name").value_or(""));
    });
    const auto fits = [&](const MadeCall& call) {
      return id.empty() ? !call.answered && (name.empty() || call.function == name) : call.id == id;
    };
    const auto call = std::find_if(calls_.begin(), calls_.end(), fits);
    if (call == calls_.end()) {
      refuse_field(id.empty() ? where : where + ".tool_call_id",
                   "is the result of no call before it");
    }
    if (call->answered) refuse_field(where + ".tool_call_id", "this call has a result already");
    call->answered = true;
    messages_.push_back({{"role", "tool"},
                         {"tool_call_id", call->id},
                         {"name", call->function},
                         {"content", content}});
  }

  Json messages_ = Json::array();
  std::vector<MadeCall> calls_;
};

/// A request without a prompt loads or unloads the model in Ollama; here it is always there.
GenerationRequest without_prompt(const FieldReader& fields, GenerationRequest request) {
  const Json* alive = fields.find("keep_alive");
  request.ends_at_once = alive != nullptr && (*alive == 0 || *alive == "0") ? "unload" : "load";
  return request;
}

void use_ollama_conversation(const ServedModel& model, const FieldReader& fields,
                             Conversation conversation, const char* prompt_name,
                             GenerationRequest& request, Job& job) {
  read_think(fields, conversation);
  renamed_field({{"messages", prompt_name}},
                [&] { use_conversation(model, std::move(conversation), request, job); });
  settle_length(model, request, job);
}

void use_ollama_documents(const FieldReader& fields, std::vector<QuestionDocument> documents,
                          const Json& messages, GenerationRequest& request, Job& job) {
  use_documents(std::move(documents), request, job);
  request.sources = job.sources = fields.boolean("sources").value_or(false);
  if (request.sources) request_sources(messages, request);
}

/// A prompt that no template surrounds: the reply is text, whatever it looks like.
void use_raw_prompt(const ServedModel& model, const std::string& prompt, GenerationRequest& request,
                    Job& job) {
  job.prompt = prompt_of(model, prompt, "prompt");
  job.reply.starts_text = false;
  request.form.format.family = CallFamily::kNone;
  request.form.format.reasoning_open.clear();
  settle_length(model, request, job);
}

void refuse_templates(const FieldReader& fields) {
  if (!fields.text("template").value_or("").empty()) {
    refuse_field("template", "the template belongs to the server (--chat-template)");
  }
  if (!fields.text("suffix").value_or("").empty()) {
    refuse_field("suffix", "this model does not fill text in");
  }
}

}  // namespace

GenerationRequest read_ollama_chat(const ServedModel& model, const http::HttpRequest& http,
                                   const std::string& key) {
  constexpr std::string_view kKnown[] = {"model",    "messages",     "tools",     "think",
                                         "format",   "options",      "stream",    "keep_alive",
                                         "logprobs", "top_logprobs", "attention", "session",
                                         "template", "documents",    "sources"};
  Json body = read_body(http.body, kKnown);
  const FieldReader fields(body);
  GenerationRequest request;
  request.api = Api::kOllamaChat;
  const auto job = std::make_shared<Job>();
  const Json* messages = fields.find("messages");
  if (messages != nullptr && !messages->is_array()) refuse_field("messages", "is no list");
  const bool loads = messages == nullptr || messages->empty();
  OllamaMessages reader;
  for (size_t i = 0; !loads && i < messages->size(); ++i) {
    reader.read((*messages)[i], fmt::format("messages[{}]", i));
  }
  Conversation conversation;
  conversation.messages = reader.take();
  std::vector<QuestionDocument> documents;
  if (!loads) documents = take_documents(model, key, body, conversation);
  read_shared(model, http, fields, key, request, *job);
  refuse_templates(fields);
  if (loads) return without_prompt(fields, std::move(request));
  if (const Json* tools = fields.find("tools"); tools != nullptr) {
    check_tools(*tools, "tools");
    if (!tools->empty()) conversation.tools = *tools;
  }
  use_ollama_conversation(model, fields, std::move(conversation), "messages", request, *job);
  use_ollama_documents(fields, std::move(documents), body["messages"], request, *job);
  request.jobs = {job};
  return request;
}

GenerationRequest read_ollama_generate(const ServedModel& model, const http::HttpRequest& http,
                                       const std::string& key) {
  constexpr std::string_view kKnown[] = {
      "model",     "prompt",  "suffix",  "images",    "system",     "template", "context",
      "raw",       "format",  "options", "stream",    "keep_alive", "logprobs", "top_logprobs",
      "attention", "session", "think",   "documents", "sources"};
  Json body = read_body(http.body, kKnown);
  const FieldReader fields(body);
  GenerationRequest request;
  request.api = Api::kOllamaGenerate;
  const auto job = std::make_shared<Job>();
  const std::string prompt = fields.text("prompt").value_or("");
  const std::string system = fields.text("system").value_or("");
  const bool raw = fields.boolean("raw").value_or(false);
  Conversation conversation;
  if (!system.empty()) conversation.messages.push_back({{"role", "system"}, {"content", system}});
  conversation.messages.push_back({{"role", "user"}, {"content", prompt}});
  std::vector<QuestionDocument> documents;
  if (!prompt.empty() && !raw) documents = take_documents(model, key, body, conversation);
  read_shared(model, http, fields, key, request, *job);
  refuse_templates(fields);
  refuse_images(body, "");
  if (fields.has("context")) {
    request.warnings.emplace_back(
        "context: was ignored, because this server continues conversations of /api/chat only");
  }
  if (prompt.empty()) return without_prompt(fields, std::move(request));
  if (raw) {
    if (fields.has("documents")) refuse_field("documents", "a raw prompt has no documents");
    if (!system.empty()) refuse_field("system", "a raw prompt has no system message");
    use_raw_prompt(model, prompt, request, *job);
  } else {
    const Json messages = conversation.messages;
    use_ollama_conversation(model, fields, std::move(conversation), "prompt", request, *job);
    use_ollama_documents(fields, std::move(documents), messages, request, *job);
  }
  request.jobs = {job};
  return request;
}

}  // namespace longhaul::serve
