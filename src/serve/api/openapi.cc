// The OpenAPI description of the server: every path of the router, with the members of its body
// that the server checks. Members that are not listed are ignored, or any value is read.

#include <cctype>
#include <limits>
#include <string>
#include <string_view>

#include "serve/api/api_error.h"
#include "serve/api/pages.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kMostInteger = int64_t{1} << 31;

// Every optional member may be null, which means that it is absent.
Json described(const char* type) { return {{"type", {type, "null"}}}; }
Json described_integer(int64_t least, int64_t most) {
  return {{"type", {"integer", "null"}}, {"minimum", least}, {"maximum", most}};
}
Json described_number(double least, double most) {
  return {{"type", {"number", "null"}}, {"minimum", least}, {"maximum", most}};
}
Json described_list(Json items, size_t most) {
  return {{"type", {"array", "null"}}, {"items", std::move(items)}, {"maxItems", most}};
}
Json texts_of_list(size_t most) {
  return described_list({{"type", "string"}, {"maxLength", 1024}}, most);
}

/// A schema of an object with these members.
Json object_schema(Json members, const std::vector<std::string>& required = {}) {
  Json schema = {{"type", "object"}, {"properties", std::move(members)}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

/// Members of the OpenAI and llama-server forms (common_fields.cc).
Json common_schema() {
  return {{"model", described("string")},
          {"attention", described("string")},
          {"stream", described("boolean")},
          {"stream_options", described("object")},
          {"temperature", described_number(0, 100)},
          {"top_k", described_integer(-1, 1 << 30)},
          {"top_p", described_number(0, 1)},
          {"min_p", described_number(0, 1)},
          {"repeat_penalty", described_number(0.01, 100)},
          {"repeat_last_n", described_integer(0, 1 << 30)},
          {"presence_penalty", described_number(-100, 100)},
          {"frequency_penalty", described_number(-100, 100)},
          {"seed", described_integer(-1, std::numeric_limits<int64_t>::max())},
          {"n", described_integer(1, 8)},
          {"stop", {{"anyOf", {described("string"), texts_of_list(16)}}}},
          {"ignore_eos", described("boolean")},
          {"return_progress", described("boolean")},
          {"timings_per_token", described("boolean")},
          {"return_tokens", described("boolean")},
          {"cache_prompt", described("boolean")},
          {"sources", described("boolean")},
          {"session", described("string")},
          {"prompt_cache_key", described("string")},
          {"cache_salt", described("string")},
          {"id_slot", described_integer(-1, 1 << 20)},
          {"kv_type", described("string")},
          {"longhaul", described("object")}};
}

Json with_common(const Json& own, const std::vector<std::string>& required) {
  Json members = common_schema();
  members.update(own);
  return object_schema(std::move(members), required);
}

Json prompt_schema() {
  return {{"anyOf",
           {{{"type", "string"}, {"minLength", 1}},
            {{"type", "array"}, {"minItems", 1}},
            {{"type", "object"}, {"required", {"prompt_string"}}}}}};
}

/// Messages of one of these roles; null: any.
Json messages_schema(const Json& roles) {
  Json role = {{"type", "string"}};
  if (!roles.is_null()) role["enum"] = roles;
  const Json message = object_schema({{"role", role}}, {"role"});
  return {{"type", "array"}, {"items", message}, {"minItems", 1}};
}

Json chat_members() {
  return {{"messages", messages_schema(nullptr)},
          {"max_tokens", described_integer(0, kMostInteger)},
          {"max_completion_tokens", described_integer(0, kMostInteger)},
          {"logprobs", described("boolean")},
          {"top_logprobs", described_integer(0, 20)},
          {"tools", described_list({{"type", "object"}}, 512)},
          {"parallel_tool_calls", described("boolean")},
          {"chat_template_kwargs", described("object")},
          {"add_generation_prompt", described("boolean")},
          {"documents", described("array")}};
}

Json message_body(const std::vector<std::string>& required) {
  return object_schema(
      {{"model", described("string")},
       {"messages", messages_schema({"user", "assistant", "system"})},
       {"max_tokens", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostInteger}}},
       {"stream", described("boolean")},
       {"temperature", described_number(0, 100)},
       {"top_k", described_integer(-1, 1 << 30)},
       {"top_p", described_number(0, 1)},
       {"stop_sequences", texts_of_list(16)},
       {"metadata", described("object")},
       {"tools", described("array")}},
      required);
}

Json document_body() {
  return object_schema({{"text", described("string")},
                        {"file_id", described("string")},
                        {"name", described("string")},
                        {"attention", described("string")},
                        {"system", described("string")},
                        {"persist", described("boolean")}});
}

Json length_members() {
  return {{"tokens", {{"type", "integer"}, {"minimum", 1}, {"maximum", int64_t{1} << 32}}},
          {"reply", described_integer(0, int64_t{1} << 32)}};
}

Json ollama_body(Json members) {
  members["model"] = {{"type", "string"}, {"minLength", 1}};
  members["stream"] = described("boolean");
  members["options"] = described("object");
  return object_schema(std::move(members), {"model"});
}

/// The schema of the body of POST `path`.
Json body_schema(std::string_view path) {
  if (path.ends_with("/chat/completions")) return with_common(chat_members(), {"messages"});
  if (path == "/v1/completions") {
    return with_common({{"prompt", prompt_schema()},
                        {"max_tokens", described_integer(0, kMostInteger)},
                        {"echo", described("boolean")}},
                       {"prompt"});
  }
  if (path == "/completion" || path == "/completions") {
    return with_common({{"prompt", prompt_schema()},
                        {"n_predict", described_integer(-2, kMostInteger)},
                        {"n_probs", described_integer(0, 100)}},
                       {"prompt"});
  }
  if (path == "/v1/messages") return message_body({"messages", "max_tokens"});
  if (path == "/v1/messages/count_tokens") return message_body({"messages"});
  if (path.ends_with("/responses") || path.ends_with("/responses/input_tokens")) {
    return object_schema({{"model", described("string")},
                          {"instructions", described("string")},
                          {"store", described("boolean")},
                          {"tools", described("array")},
                          {"previous_response_id", described("string")}});
  }
  if (path == "/api/chat") return ollama_body({{"messages", described("array")}});
  if (path == "/api/generate") {
    return ollama_body({{"prompt", described("string")},
                        {"system", described("string")},
                        {"raw", described("boolean")}});
  }
  if (path == "/api/show") return ollama_body(Json::object());
  if (path.ends_with("/detokenize")) {
    const Json id = {{"type", "integer"}, {"minimum", 0}};
    return object_schema({{"tokens", {{"type", "array"}, {"items", id}}}}, {"tokens"});
  }
  if (path.ends_with("/tokenize")) {
    return object_schema({{"add_special", described("boolean")},
                          {"parse_special", described("boolean")},
                          {"with_pieces", described("boolean")}});
  }
  if (path == "/apply-template" || path.ends_with("/input_tokens")) {
    return object_schema({{"messages", messages_schema(nullptr)}}, {"messages"});
  }
  if (path == "/v1/documents") return document_body();
  if (path.ends_with("/fork") && path.starts_with("/v1/documents/")) {
    const Json attention = {{"type", "string"}, {"minLength", 1}};
    return object_schema({{"attention", attention}, {"name", described("string")}}, {"attention"});
  }
  if (path == "/v1/forecast") return object_schema(length_members(), {"tokens"});
  if (path == "/v1/advise") {
    Json members = length_members();
    members["tokens"]["type"] = {"integer", "null"};
    members["document"] = described("string");
    return object_schema(std::move(members));
  }
  if (path == "/v1/streams/lookup") {
    const Json ids = {{"type", "array"}};
    return object_schema({{"conversation_ids", ids}}, {"conversation_ids"});
  }
  return {{"type", "object"}};
}

Json query_parameter(const char* name, Json schema, bool required = false) {
  return {{"name", name}, {"in", "query"}, {"required", required}, {"schema", std::move(schema)}};
}

Json parameters_of(const http::Route& route) {
  const std::string& path = route.path;
  Json list = Json::array();
  for (size_t brace = path.find('{'); brace != std::string::npos;
       brace = path.find('{', brace + 1)) {
    const std::string name = path.substr(brace + 1, path.find('}', brace) - brace - 1);
    list.push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  const Json count = {{"type", "integer"}, {"minimum", 0}};
  if (path == "/slots/{id}") {
    list.push_back(query_parameter(
        "action", {{"type", "string"}, {"enum", {"save", "restore", "erase"}}}, true));
  }
  if (path.ends_with("/text")) {
    list.push_back(query_parameter("from", count));
    list.push_back(query_parameter("to", count));
  }
  if (path.ends_with("/passages")) {
    list.push_back(query_parameter("text", {{"type", "string"}, {"minLength", 1}}, true));
    list.push_back(
        query_parameter("limit", {{"type", "integer"}, {"minimum", 0}, {"maximum", 100}}));
  }
  if (path.ends_with("/advise") && path.starts_with("/v1/documents/")) {
    list.push_back(query_parameter("reply", count));
  }
  const bool is_stream = path.starts_with("/v1/stream/") || path == "/v1/stream";
  if (is_stream && route.method == "GET") {
    list.push_back(query_parameter("from", count));
  }
  if (path == "/v1/stream") list.push_back(query_parameter("conv_id", {{"type", "string"}}));
  if (path == "/v1/streams")
    list.push_back(query_parameter("conversation_id", {{"type", "string"}}));
  return list;
}

bool makes_replies(std::string_view path) {
  return path.ends_with("/completions") || path == "/completion" || path == "/v1/messages" ||
         path.ends_with("/responses") || path == "/api/chat" || path == "/api/generate";
}

/// Types of the answer with status 200.
std::vector<std::string> types_of(std::string_view path) {
  if (path == "/metrics" || path.ends_with("/content")) return {"text/plain"};
  if (path == "/" || path.starts_with("/assets/")) return {"*/*"};
  if (path.starts_with("/v1/stream/") || path == "/v1/stream") return {"text/event-stream"};
  if (path == "/api/chat" || path == "/api/generate") {
    return {"application/json", "application/x-ndjson"};
  }
  if (makes_replies(path) || path == "/v1/documents/{id}") {
    return {"application/json", "text/event-stream"};
  }
  return {"application/json"};
}

const char* error_name(std::string_view path) {
  switch (error_form_of(path)) {
    case ErrorForm::kOllama:
      return "OllamaError";
    case ErrorForm::kAnthropic:
      return "AnthropicError";
    default:
      return "Error";
  }
}

Json responses_of(const http::Route& route) {
  const bool adds = route.method == "POST" &&
                    (route.path == "/v1/documents" || route.path == "/v1/documents/{id}/fork" ||
                     route.path == "/v1/files");
  const bool stops = route.method == "DELETE" && route.path.starts_with("/v1/stream");
  Json answer = {{"description", "the answer"}};
  for (const std::string& type : types_of(route.path)) {
    answer["content"][type] =
        type == "application/json" ? Json{{"schema", Json::object()}} : Json::object();
  }
  Json responses;
  if (stops) {
    responses["204"] = {{"description", "the reply is stopped and forgotten"}};
  } else {
    responses["200"] = answer;
  }
  if (adds) responses["202"] = answer;
  const std::string schema = std::string("#/components/schemas/") + error_name(route.path);
  responses["default"] = {{"description", "an error"},
                          {"content", {{"application/json", {{"schema", {{"$ref", schema}}}}}}}};
  return responses;
}

Json request_body_of(const http::Route& route) {
  Json body = {{"required", true}};
  if (route.path != "/v1/files") {
    body["content"]["application/json"]["schema"] = body_schema(route.path);
  }
  if (route.upload) {
    const Json file = {{"type", "string"}, {"format", "binary"}};
    body["content"]["multipart/form-data"]["schema"] = object_schema({{"file", file}}, {"file"});
  }
  return body;
}

Json error_schemas() {
  const Json text = {{"type", "string"}};
  const Json error = object_schema({{"message", text}, {"type", text}, {"code", text}},
                                   {"message", "type", "code"});
  const Json short_error = object_schema({{"message", text}, {"type", text}}, {"message", "type"});
  return {
      {"Error", object_schema({{"error", error}}, {"error"})},
      {"OllamaError", object_schema({{"error", text}}, {"error"})},
      {"AnthropicError", object_schema({{"type", {{"enum", {"error"}}}}, {"error", short_error}},
                                       {"type", "error"})}};
}

}  // namespace

Json openapi(const http::Router& router) {
  Json paths = Json::object();
  for (const http::Route& route : router.routes()) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    Json operation = {{"responses", responses_of(route)}};
    if (route.method == "POST") operation["requestBody"] = request_body_of(route);
    if (Json parameters = parameters_of(route); !parameters.empty()) {
      operation["parameters"] = std::move(parameters);
    }
    paths[route.path][method] = std::move(operation);
  }
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "Longhaul"}, {"version", "1"}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", error_schemas()}}}};
}

}  // namespace longhaul::serve
