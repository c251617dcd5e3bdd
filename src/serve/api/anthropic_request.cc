// Bodies of Anthropic's /v1/messages and /v1/messages/count_tokens.

#include "serve/api/anthropic_blocks.h"
#include "serve/api/api_error.h"
#include "serve/api/common_fields.h"
#include "serve/api/pages.h"
#include "serve/api/reply_form.h"
#include "serve/documents/asked_documents.h"
#include "serve/output/citations.h"
#include "serve/output/sources.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kMostMessageTokens = int64_t{1} << 31;

/// thinking: {"type": "enabled", "budget_tokens": N}, "adaptive" or "disabled".
void read_thinking(const FieldReader& fields, Conversation& conversation) {
  const Json* thinking = fields.find("thinking");
  if (thinking == nullptr) return;
  if (!thinking->is_object()) refuse_field("thinking", "is no object");
  const std::string& type = text_member(*thinking, "type", "thinking");
  if (type == "disabled") {
    conversation.thinking = false;
  } else if (type == "enabled" || type == "adaptive") {
    conversation.thinking = true;
    const auto budget = thinking->find("budget_tokens");
    if (budget == thinking->end() || budget->is_null()) return;
    conversation.thinking_budget =
        integer_of(*budget, "thinking.budget_tokens", 0, kMostMessageTokens);
  } else {
    refuse_field("thinking.type", "{} is not enabled, adaptive or disabled", printable(type));
  }
}

/// output_config: {"effort": ..., "format": {"type": "json_schema", "schema": ...}}.
std::optional<grammar::Constraint> read_output(const ServedModel& model, const FieldReader& fields,
                                               Conversation& conversation) {
  const Json* format = fields.find("output_format");
  std::string name = "output_format";
  if (const Json* config = fields.find("output_config")) {
    if (!config->is_object()) refuse_field("output_config", "is no object");
    const FieldReader inner(*config);
    const std::string effort = inner.text("effort").value_or("");
    if (!effort.empty()) {
      conversation.effort = effort == "low" || effort == "medium" ? effort : "high";
    }
    if (inner.has("format")) {
      format = inner.find("format");
      name = "output_config.format";
    }
  }
  if (format == nullptr) return {};
  return constraint_of_format(model, *format, name);
}

std::vector<std::string> stop_sequences(const FieldReader& fields) {
  const Json* value = fields.find("stop_sequences");
  if (value != nullptr && !value->is_array()) refuse_field("stop_sequences", "is no list of texts");
  return stop_texts(value, "stop_sequences");
}

/// Requests of one user are different conversations if they begin differently: an agent also sends
/// small requests of its own, such as one for a title.
std::string conversation_name(const FieldReader& fields, const Json& body) {
  const Json* metadata = fields.find("metadata");
  if (metadata == nullptr) return {};
  if (!metadata->is_object()) refuse_field("metadata", "is no object");
  const std::string user = FieldReader(*metadata).text("user_id").value_or("");
  if (user.empty()) return {};
  // The first block changes with each request of some agents.
  const Json* system = fields.find("system");
  const bool blocks = system != nullptr && system->is_array() && !system->empty();
  const size_t bytes = system == nullptr ? 0 : text_of(blocks ? system->back() : *system).size();
  const size_t tools = body.contains("tools") ? body["tools"].size() : 0;
  return fmt::format("{:.200}#{:x}-{:x}", user, bytes, tools);
}

std::vector<std::string_view> message_members() {
  std::vector<std::string_view> all = anthropic_conversation_members();
  for (const char* name :
       {"model", "max_tokens", "stream", "temperature", "top_k", "top_p", "stop_sequences",
        "thinking", "output_config", "output_format", "metadata", "attention", "seed", "min_p",
        "kv_type", "documents", "sources"}) {
    all.emplace_back(name);
  }
  return all;
}

/// Blocks come after the documents that the request names, which all lead the first message. Those
/// are numbered after the blocks, whose numbers the client knows.
void add_documents(std::vector<QuestionDocument> blocks, std::vector<QuestionDocument>& documents) {
  int number = static_cast<int>(blocks.size());
  const bool cites = std::ranges::any_of(blocks, &QuestionDocument::cites);
  for (QuestionDocument& document : documents) {
    document.number = number++;
    document.cites = cites || blocks.empty();
  }
  std::ranges::move(blocks, std::back_inserter(documents));
}

}  // namespace

GenerationRequest read_messages(const ServedModel& model, const http::HttpRequest& http,
                                const std::string& key) {
  Json body = read_body(http.body, message_members());
  const FieldReader fields(body);
  refuse_unsupported(model, fields);
  GenerationRequest request;
  request.api = Api::kMessages;
  const auto job = std::make_shared<Job>();
  const auto longest = fields.integer("max_tokens", 1, kMostMessageTokens);
  if (!longest) refuse_field("max_tokens", "is missing");
  AnthropicNotes notes;
  Conversation conversation = read_anthropic_conversation(
      body, {model.keep_billing_header, lookup_of(model.documents, key)}, notes);
  std::vector<QuestionDocument> documents = take_documents(model, key, body, conversation);
  add_documents(std::move(notes.documents), documents);
  begin_job(model, http, fields, key, conversation_name(fields, body), request, *job);
  request.stream = fields.boolean("stream").value_or(false);
  request.progress = job->progress = request.stream;
  SamplerOptions& sampler = job->reply.sampler;
  fields.number("temperature", 0, 100, sampler.temperature);
  fields.integer("top_k", -1, 1 << 30, sampler.top_k);
  fields.number("top_p", 0, 1, sampler.top_p);
  fields.number("min_p", 0, 1, sampler.min_p);
  settle_seed(fields.integer("seed", -1, std::numeric_limits<int64_t>::max()), request, *job);
  job->reply.max_tokens = *longest;
  job->caps_reply = true;  // Claude Code sends 32,000 with every request
  job->reply.stop = stop_sequences(fields);
  read_thinking(fields, conversation);
  job->reply.constraint = read_output(model, fields, conversation);
  request.warnings = std::move(notes.warnings);
  if (notes.dropped_billing_header) {
    request.note =
        "Claude Code's billing header is left out of prompts, because it changes with each "
        "request (--keep-billing-header keeps it)";
  }
  use_conversation(model, std::move(conversation), request, *job);
  settle_length(model, request, *job);
  use_documents(std::move(documents), request, *job);
  request.sources = job->sources = fields.boolean("sources").value_or(false);
  if (request.sources) request_sources(body["messages"], request);
  request_citations(model, request, *job);
  request.jobs = {job};
  return request;
}

Json count_tokens_page(const ServedModel& model, const http::HttpRequest& http,
                       const std::string& key) {
  Json body = read_body(http.body, message_members());
  const FieldReader fields(body);
  AnthropicNotes notes;
  Conversation conversation;
  try {
    conversation = read_anthropic_conversation(
        body, {model.keep_billing_header, lookup_of(model.documents, key)}, notes);
    take_documents(model, key, body, conversation);
  } catch (const DocumentIsConverted&) {
    throw ApiError(409, "invalid_request_error", "not_ready", "a file is still being converted");
  }
  choice_of_request(model, fields.text("model").value_or(""), "");
  read_thinking(fields, conversation);
  return {
      {"input_tokens", conversation_prompt(model, std::move(conversation), false).tokens.size()}};
}

}  // namespace longhaul::serve
