// Bodies of POST /v1/responses.

#include "serve/api/responses_request.h"

#include <cmath>

#include "serve/api/api_error.h"
#include "serve/api/common_fields.h"
#include "serve/api/renamed_field.h"
#include "serve/api/response_store.h"
#include "serve/api/responses_input.h"
#include "serve/documents/asked_documents.h"
#include "serve/output/citations.h"
#include "serve/output/sources.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kMostOutput = int64_t{1} << 31;

/// Members that OpenAI's service has and this server does not.
void refuse_services(const FieldReader& fields) {
  if (fields.boolean("background").value_or(false)) {
    refuse_field("background", "this server answers while the client waits");
  }
  if (fields.has("conversation")) {
    refuse_field("conversation", "conversations are continued by previous_response_id");
  }
  if (fields.has("prompt")) refuse_field("prompt", "this server keeps no prompts; send input");
  if (fields.integer("top_logprobs", 0, 20).value_or(0) > 0) {
    refuse_field("top_logprobs", "log-probabilities come with /v1/chat/completions only");
  }
  const std::string truncation = fields.text("truncation").value_or("disabled");
  if (truncation != "disabled" && truncation != "auto") {
    refuse_field("truncation", "{} is not auto or disabled", printable(truncation));
  }
  if (const Json* include = fields.find("include"); include != nullptr && !include->is_array()) {
    refuse_field("include", "is no list");
  }
  for (const char* name : {"metadata", "client_metadata"}) {
    const Json* value = fields.find(name);
    if (value != nullptr && !value->is_object()) refuse_field(name, "is no object");
  }
}

void read_responses_reasoning(const FieldReader& fields, ResponsesConversation& made) {
  const Json* reasoning = fields.find("reasoning");
  if (reasoning == nullptr) return;
  if (!reasoning->is_object()) refuse_field("reasoning", "is no object");
  const FieldReader inner(*reasoning);
  in_member("reasoning.", [&] {
    for (const char* name : {"summary", "generate_summary"}) {
      const std::string kind = inner.text(name).value_or("none");
      if (kind != "none" && kind != "auto" && kind != "concise" && kind != "detailed") {
        refuse_field(name, "{} is not none, auto, concise or detailed", printable(kind));
      }
      made.request.summary |= kind != "none";
    }
    const auto effort = inner.text("effort");
    if (!effort) return;
    if (*effort == "none") {
      made.conversation.thinking = false;
    } else if (*effort == "minimal" || *effort == "low") {
      made.conversation.effort = "low";
    } else if (*effort == "medium") {
      made.conversation.effort = "medium";
    } else if (*effort == "high" || *effort == "xhigh" || *effort == "max") {
      made.conversation.effort = "high";
    } else {
      refuse_field("effort", "{} is not none, minimal, low, medium, high or xhigh",
                   printable(*effort));
    }
  });
}

/// The messages of the response that the request continues.
Json earlier_messages(const ServedModel& model, const FieldReader& fields, const std::string& key) {
  const auto id = fields.text("previous_response_id");
  if (!id) return Json::array();
  const auto entry = model.responses->find(key, *id);
  if (entry != nullptr) return Json::parse(entry->messages);
  throw ApiError(404, "invalid_request_error", "previous_response_not_found",
                 fmt::format("previous_response_id: this server does not have the response {} (any "
                             "more): send the request again with the whole conversation as input "
                             "and without previous_response_id",
                             printable(id->substr(0, 64))),
                 "previous_response_id");
}

/// As GET .../input_items shows the input.
Json items_of_input(const Json& input) {
  if (!input.is_string()) return input;
  return Json::array({{{"type", "message"},
                       {"role", "user"},
                       {"content", {{{"type", "input_text"}, {"text", input}}}}}});
}

/// "text": {"format": ...} as the member response_format of the Chat API.
Json response_format_of(const FieldReader& fields) {
  const Json* text = fields.find("text");
  if (text == nullptr) return {};
  if (!text->is_object()) refuse_field("text", "is no object");
  const Json format = text->value("format", Json());
  if (!format.is_object() || format.value("type", Json()) != "json_schema") return format;
  if (!format.contains("schema")) refuse_field("text.format.schema", "is missing");
  return {{"type", "json_schema"}, {"json_schema", {{"schema", format["schema"]}}}};
}

/// The members that have the same meaning in the Chat API.
Json common_body(const Json& body, const FieldReader& fields) {
  Json common = Json::object();
  for (const std::string_view name : common_members()) {
    const auto value = body.find(std::string(name));
    if (value != body.end() && name != "response_format") common[std::string(name)] = *value;
  }
  if (Json format = response_format_of(fields); !format.is_null()) {
    common["response_format"] = std::move(format);
  }
  common.erase("n");
  return common;
}

/// The number without the digits that a float adds: 0.95, not 0.949999988079071.
double plain(float value) { return std::round(value * 1e6) / 1e6; }

/// The members that a response repeats, with their defaults.
Json repeated_members(const FieldReader& fields, const GenerationRequest& request, const Job& job) {
  const auto given = [&](const char* name, Json otherwise) {
    const Json* value = fields.find(name);
    return value != nullptr ? *value : std::move(otherwise);
  };
  return {{"instructions", given("instructions", nullptr)},
          {"max_output_tokens", given("max_output_tokens", nullptr)},
          {"max_tool_calls", given("max_tool_calls", nullptr)},
          {"metadata", given("metadata", Json::object())},
          {"model", request.model},
          {"parallel_tool_calls", given("parallel_tool_calls", true)},
          {"previous_response_id", given("previous_response_id", nullptr)},
          {"prompt_cache_key", given("prompt_cache_key", nullptr)},
          {"reasoning", given("reasoning", {{"effort", nullptr}, {"summary", nullptr}})},
          {"safety_identifier", given("safety_identifier", nullptr)},
          {"service_tier", "default"},
          {"store", given("store", true)},
          {"temperature", given("temperature", plain(job.reply.sampler.temperature))},
          {"text", given("text", {{"format", {{"type", "text"}}}})},
          {"tool_choice", given("tool_choice", "auto")},
          {"tools", given("tools", Json::array())},
          {"top_logprobs", 0},
          {"top_p", given("top_p", plain(job.reply.sampler.top_p))},
          {"truncation", given("truncation", "disabled")},
          {"user", given("user", nullptr)}};
}

}  // namespace

std::vector<std::string_view> responses_members() {
  return {"input",          "instructions",      "previous_response_id", "store",
          "tools",          "tool_choice",       "parallel_tool_calls",  "reasoning",
          "text",           "background",        "conversation",         "prompt",
          "include",        "metadata",          "client_metadata",      "truncation",
          "user",           "service_tier",      "safety_identifier",    "top_logprobs",
          "max_tool_calls", "max_output_tokens", "chat_template_kwargs", "documents"};
}

ResponsesConversation read_responses_conversation(const ServedModel& model, const Json& body,
                                                  const std::string& key) {
  const FieldReader fields(body);
  refuse_services(fields);
  ResponsesConversation made;
  ResponsesRequest& request = made.request;
  request.key = key;
  request.store = fields.boolean("store").value_or(true);
  request.instructions = fields.text("instructions").value_or("");
  request.tools = ResponsesTools(fields.find("tools"), fields.find("tool_choice"), made.warnings);
  read_responses_reasoning(fields, made);
  Json messages = earlier_messages(model, fields, key);
  if (const Json* input = fields.find("input")) {
    InputFiles files{lookup_of(model.documents, key), {}};
    for (Json& message : messages_of_input(*input, messages, made.warnings, files)) {
      messages.push_back(std::move(message));
    }
    made.files = std::move(files.found);
    if (request.store) request.input = items_of_input(*input);
  } else if (messages.empty()) {
    refuse_field("input", "is missing");
  }
  if (messages.empty()) refuse_field("input", "holds no message");
  Conversation& conversation = made.conversation;
  if (request.store) request.messages = messages;
  conversation.messages = with_instructions(request.instructions, std::move(messages));
  conversation.tools = request.tools.functions();
  conversation.choice = request.tools.choice();
  if (!conversation.tools.is_null()) check_tools(conversation.tools, "tools");
  conversation.parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
  if (const Json* variables = fields.find("chat_template_kwargs")) {
    if (!variables->is_object()) refuse_field("chat_template_kwargs", "is no object");
    conversation.variables = *variables;
  }
  return made;
}

GenerationRequest read_responses(const ServedModel& model, const http::HttpRequest& http,
                                 const std::string& key) {
  std::vector<std::string_view> known = common_members();
  for (const std::string_view name : responses_members()) known.push_back(name);
  Json body = read_body(http.body, known);
  const FieldReader fields(body);
  ResponsesConversation made = read_responses_conversation(model, body, key);
  std::vector<QuestionDocument> documents = take_documents(model, key, body, made.conversation);
  std::ranges::move(made.files, std::back_inserter(documents));
  GenerationRequest request;
  request.api = Api::kResponses;
  request.warnings = std::move(made.warnings);
  const auto job = std::make_shared<Job>();
  renamed_field(
      {{"response_format.json_schema", "text.format"}, {"response_format", "text.format"}},
      [&] { read_common(model, http, common_body(body, fields), key, request, *job); });
  fields.integer("max_output_tokens", 1, kMostOutput, job->reply.max_tokens);
  job->progress = request.progress = request.stream;
  renamed_field({{"messages", "input"}},
                [&] { use_conversation(model, std::move(made.conversation), request, *job); });
  settle_length(model, request, *job);
  for (QuestionDocument& document : documents) {
    document.cites = fields.boolean("sources").value_or(true);
  }
  use_documents(std::move(documents), request, *job);
  if (request.sources) request_sources(made.request.messages, request);
  request_citations(model, request, *job);
  made.request.fields = repeated_members(fields, request, *job);
  request.responses = std::make_shared<ResponsesRequest>(std::move(made.request));
  request.jobs = {job};
  return request;
}

}  // namespace longhaul::serve
