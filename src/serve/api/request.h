#pragma once
// A client's request for replies, in any of the APIs.

#include <memory>
#include <string>
#include <vector>

#include "http/message.h"
#include "serve/api/json_text.h"
#include "serve/scheduler/job.h"
#include "serve/served_model.h"

namespace longhaul::serve {

enum class Api : uint8_t { kChat, kCompletions, kLlama };

struct GenerationRequest {
  Api api = Api::kChat;
  std::vector<std::shared_ptr<Job>> jobs;  ///< one for each prompt
  std::vector<std::string> echoes;         ///< text of each prompt, where echo asks for it
  std::string model;                       ///< as the client named it
  MethodSpec attention = MethodSpec::parse("dense");
  bool stream = false, include_usage = false, progress = false, timings_per_token = false;
  bool return_tokens = false, echo = false;
  bool logprobs = false;
  int best = 0;  ///< likeliest tokens to tell
  int choices = 1;
  std::optional<uint64_t> seed;  ///< drawn or given; none: greedy
  std::vector<std::string> warnings;
};

/// Reads the body of POST /v1/chat/completions. Throws ApiError. `key`: name of the API key.
GenerationRequest read_chat(const ServedModel& model, const http::HttpRequest& request,
                            const std::string& key);
/// POST /v1/completions.
GenerationRequest read_completions(const ServedModel& model, const http::HttpRequest& request,
                                   const std::string& key);
/// POST /completion of llama-server.
GenerationRequest read_llama_completion(const ServedModel& model, const http::HttpRequest& request,
                                        const std::string& key);

/// Prompt tokens of a chat body, and how many at the end are the last message.
struct ChatTokens {
  std::vector<int32_t> tokens;
  int64_t instruction = 0;
  std::string text;
};
ChatTokens chat_tokens(const ServedModel& model, const Json& body);
/// Members that chat_tokens() reads.
std::vector<std::string_view> chat_members();

/// A prompt: text, token ids, or a mixture of both. Throws ApiError that names `name`.
std::vector<int32_t> prompt_of(const ServedModel& model, const Json& value, const std::string& name,
                               bool add_special = true);

}  // namespace longhaul::serve
