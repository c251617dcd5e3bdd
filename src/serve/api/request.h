#pragma once
// A client's request for replies, in any of the APIs.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/message.h"
#include "serve/api/json_text.h"
#include "serve/documents/question_documents.h"
#include "serve/output/reply_format.h"
#include "serve/scheduler/job.h"
#include "serve/served_model.h"

namespace longhaul::serve {

enum class Api : uint8_t {
  kChat,
  kCompletions,
  kLlama,
  kMessages,
  kResponses,
  kOllamaChat,
  kOllamaGenerate
};

/// How the reply of a chat API is divided into text, reasoning and calls.
struct TurnForm {
  ReplyFormat format;
  OfferedTools tools;
  std::string prompt_end;  ///< text after the template's prompt that the parser reads first
  bool one_call = false;   ///< the reply ends after its first call
};

struct ResponsesRequest;
class Citations;

struct GenerationRequest {
  Api api = Api::kChat;
  std::vector<std::shared_ptr<Job>> jobs;  ///< one for each prompt
  std::vector<std::string> echoes;         ///< text of each prompt, where echo asks for it
  std::string model;                       ///< as the client named it
  MethodSpec attention = MethodSpec::parse("dense");
  bool stream = false, include_usage = false, progress = false, timings_per_token = false;
  bool return_tokens = false, echo = false, sources = false;
  bool logprobs = false;
  int best = 0;  ///< likeliest tokens to tell
  int choices = 1;
  std::optional<uint64_t> seed;  ///< drawn or given; none: greedy
  std::vector<std::string> warnings;
  TurnForm form;                                      ///< for chat APIs
  std::string note;                                   ///< for the log, once
  std::shared_ptr<const ResponsesRequest> responses;  ///< for kResponses
  const char* ends_at_once = nullptr;          ///< reason why a request of Ollama has no reply
  std::vector<QuestionDocument> documents;     ///< documents that the request names, in order
  std::shared_ptr<const Citations> citations;  ///< null: the reply cites nothing
  std::vector<std::string> message_texts;      ///< contents of the messages; empty: unknown
  /// Runs a task on a text thread; false if too many wait. Null: there are no such threads.
  std::function<bool(std::function<void()>)> run;
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

/// POST /v1/messages of Anthropic.
GenerationRequest read_messages(const ServedModel& model, const http::HttpRequest& request,
                                const std::string& key);
/// POST /v1/responses.
GenerationRequest read_responses(const ServedModel& model, const http::HttpRequest& request,
                                 const std::string& key);
/// POST /api/chat and /api/generate of Ollama.
GenerationRequest read_ollama_chat(const ServedModel& model, const http::HttpRequest& request,
                                   const std::string& key);
GenerationRequest read_ollama_generate(const ServedModel& model, const http::HttpRequest& request,
                                       const std::string& key);

/// A prompt: text, token ids, or a mixture of both. Throws ApiError that names `name`.
std::vector<int32_t> prompt_of(const ServedModel& model, const Json& value, const std::string& name,
                               bool add_special = true);

}  // namespace longhaul::serve
