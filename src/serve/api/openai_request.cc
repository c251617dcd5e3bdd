// Bodies of /v1/chat/completions and /v1/completions.

#include <algorithm>

#include "serve/api/api_error.h"
#include "serve/api/common_fields.h"
#include "serve/api/conversation.h"
#include "serve/api/request.h"
#include "serve/documents/asked_documents.h"
#include "serve/output/sources.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kMostReply = int64_t{1} << 31;
constexpr size_t kMostPrompts = 64;

std::vector<std::string_view> members(std::initializer_list<std::string_view> own,
                                      std::vector<std::string_view> more = {}) {
  std::vector<std::string_view> all = common_members();
  all.insert(all.end(), own);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

int64_t most_tokens(const FieldReader& fields) {
  for (const char* name : {"max_completion_tokens", "max_tokens", "n_predict"}) {
    const auto value = fields.integer(name, -1, kMostReply);
    if (!value) continue;
    if (*value < 0 && std::string_view(name) != "n_predict") {
      refuse_field(name, "{} is not from 0 to {}", *value, kMostReply);
    }
    return *value;
  }
  return -1;
}

/// A prompt, or a list of prompts where its elements are texts or lists.
std::vector<Json> prompts_of(const Json& value) {
  const bool many = value.is_array() && !value.empty() &&
                    (value[0].is_array() || (value[0].is_string() && value.size() > 0));
  if (!many) return {value};
  if (value.size() > kMostPrompts) {
    refuse_field("prompt", "{} prompts; at most {}", value.size(), kMostPrompts);
  }
  return {value.begin(), value.end()};
}

/// llama-server's rule: a list that holds a number is one prompt of ids and texts; the elements of
/// any other list are prompts.
std::vector<Json> llama_prompts_of(const Json& value) {
  const auto is_number = [](const Json& part) { return part.is_number(); };
  if (!value.is_array() || value.empty() || std::any_of(value.begin(), value.end(), is_number)) {
    return {value};
  }
  if (value.size() > kMostPrompts) {
    refuse_field("prompt", "{} prompts; at most {}", value.size(), kMostPrompts);
  }
  return {value.begin(), value.end()};
}

void read_chat_logprobs(const FieldReader& fields, GenerationRequest& request, Job& job) {
  request.logprobs = fields.boolean("logprobs").value_or(false);
  fields.integer("top_logprobs", 0, 20, request.best);
  if (request.best > 0 && !request.logprobs) {
    refuse_field("top_logprobs", "does nothing without logprobs");
  }
  if (request.logprobs) job.reply.logprobs = request.best;
}

}  // namespace

GenerationRequest read_chat(const ServedModel& model, const http::HttpRequest& http,
                            const std::string& key) {
  const auto known = members(
      {"max_tokens", "max_completion_tokens", "n_predict", "logprobs", "top_logprobs", "documents"},
      conversation_members());
  Json body = read_body(http.body, known);
  std::vector<QuestionDocument> documents = take_documents(model, key, body);
  GenerationRequest request;
  request.api = Api::kChat;
  const auto job = std::make_shared<Job>();
  Conversation conversation = read_conversation(body);
  read_common(model, http, body, key, request, *job);
  const FieldReader fields(body);
  job->reply.max_tokens = most_tokens(fields);
  read_chat_logprobs(fields, request, *job);
  use_conversation(model, std::move(conversation), request, *job);
  settle_length(model, request, *job);
  use_documents(std::move(documents), request, *job);
  if (request.sources) request_sources(body["messages"], request);
  request.jobs = {job};
  return request;
}

GenerationRequest read_completions(const ServedModel& model, const http::HttpRequest& http,
                                   const std::string& key) {
  const auto known =
      members({"prompt", "max_tokens", "n_predict", "logprobs", "echo", "best_of", "suffix"});
  const Json body = read_body(http.body, known);
  const FieldReader fields(body);
  GenerationRequest request;
  request.api = Api::kCompletions;
  if (!fields.has("prompt")) refuse_field("prompt", "is missing");
  if (fields.text("suffix").value_or("") != "") refuse_field("suffix", "cannot be honoured");
  request.echo = fields.boolean("echo").value_or(false);
  if (const Json* logprobs = fields.find("logprobs")) {
    // A number in this API; some clients write true.
    const bool given = !logprobs->is_boolean() || logprobs->get<bool>();
    request.logprobs = given;
    if (!logprobs->is_boolean()) fields.integer("logprobs", 0, 20, request.best);
  }
  const int64_t longest =
      fields.has("max_tokens") || fields.has("n_predict") ? most_tokens(fields) : 16;
  for (const Json& prompt : prompts_of(*fields.find("prompt"))) {
    const auto job = std::make_shared<Job>();
    job->prompt = prompt_of(model, prompt, "prompt");
    read_common(model, http, body, key, request, *job);
    settle_length(model, request, *job);
    job->reply.starts_text = false;
    job->reply.max_tokens = longest;
    if (request.logprobs) job->reply.logprobs = request.best;
    job->prompt_logprobs = request.echo && request.logprobs;
    if (request.echo) {
      request.echoes.push_back(prompt.is_string()
                                   ? prompt.get<std::string>()
                                   : model.engine->tokenizer().decode(job->prompt, false));
    }
    request.jobs.push_back(job);
  }
  if (const auto best = fields.integer("best_of", 1, 8); best && *best > request.choices) {
    refuse_field("best_of", "cannot be more than n");
  }
  return request;
}

GenerationRequest read_llama_completion(const ServedModel& model, const http::HttpRequest& http,
                                        const std::string& key) {
  const auto known = members({"prompt", "n_predict", "max_tokens", "n_probs"});
  const Json body = read_body(http.body, known);
  const FieldReader fields(body);
  GenerationRequest request;
  request.api = Api::kLlama;
  if (!fields.has("prompt")) refuse_field("prompt", "is missing");
  const Json& given = *fields.find("prompt");
  const std::vector<Json> prompts = llama_prompts_of(given);
  fields.integer("n_probs", 0, 100, request.best);
  request.logprobs = request.best > 0;
  for (const Json& prompt : prompts) {
    const auto job = std::make_shared<Job>();
    job->prompt = prompt_of(model, prompt, "prompt");
    read_common(model, http, body, key, request, *job);
    settle_length(model, request, *job);
    job->reply.starts_text = false;
    job->reply.max_tokens = fields.has("n_predict")
                                ? fields.integer("n_predict", -2, kMostReply).value()
                                : most_tokens(fields);
    job->caps_reply = true;
    if (request.logprobs) job->reply.logprobs = request.best;
    request.jobs.push_back(job);
  }
  return request;
}

}  // namespace longhaul::serve
