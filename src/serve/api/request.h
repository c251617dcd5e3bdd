#pragma once
// A client's request for replies, independent of the API.

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

/// How the reply of a chat API is divided into text, reasoning and tool calls.
struct TurnForm {
  ReplyFormat format;
  OfferedTools tools;
  /// Text after the template's prompt; the parser of the reply reads it first.
  std::string prompt_end;
  bool one_call = false;  ///< whether the reply ends after its first tool call
};

struct ResponsesRequest;
class Citations;

struct GenerationRequest {
  Api api = Api::kChat;
  std::vector<std::shared_ptr<Job>> jobs;  ///< one job per prompt
  std::vector<std::string> echoes;         ///< text of each prompt, if the request has "echo"
  std::string model;                       ///< name of the model as the client wrote it
  MethodSpec attention = MethodSpec::parse("dense");
  std::string adapter;  ///< Job::adapter
  bool stream = false, include_usage = false, progress = false, timings_per_token = false;
  bool return_tokens = false, echo = false, sources = false;
  bool logprobs = false;
  int best = 0;  ///< number of most likely tokens to report
  int choices = 1;
  /// Seed of the sampler, drawn or given by the client; empty: greedy sampling.
  std::optional<uint64_t> seed;
  std::vector<std::string> warnings;
  TurnForm form;                                      ///< only for chat APIs
  std::string note;                                   ///< a line for the log
  std::shared_ptr<const ResponsesRequest> responses;  ///< only for kResponses
  /// For Ollama's API: the reason why a request needs no reply; null: a reply is generated.
  const char* ends_at_once = nullptr;
  std::vector<QuestionDocument> documents;     ///< documents that the request names, in order
  std::shared_ptr<const Citations> citations;  ///< null: the reply cites no documents
  std::vector<std::string> message_texts;      ///< contents of the messages; empty: not known
  /// Runs a task on a thread of the text pool. Returns false if too many tasks wait. Null: there is
  /// no such pool.
  std::function<bool(std::function<void()>)> run;
};

/// Each function reads the body of a request and throws ApiError if it is invalid. `key` is the
/// name of the API key. read_chat() reads POST /v1/chat/completions.
GenerationRequest read_chat(const ServedModel& model, const http::HttpRequest& request,
                            const std::string& key);
/// Reads POST /v1/completions.
GenerationRequest read_completions(const ServedModel& model, const http::HttpRequest& request,
                                   const std::string& key);
/// Reads POST /completion of llama-server.
GenerationRequest read_llama_completion(const ServedModel& model, const http::HttpRequest& request,
                                        const std::string& key);

/// Reads POST /v1/messages of Anthropic.
GenerationRequest read_messages(const ServedModel& model, const http::HttpRequest& request,
                                const std::string& key);
/// Reads POST /v1/responses.
GenerationRequest read_responses(const ServedModel& model, const http::HttpRequest& request,
                                 const std::string& key);
/// Reads POST /api/chat and /api/generate of Ollama.
GenerationRequest read_ollama_chat(const ServedModel& model, const http::HttpRequest& request,
                                   const std::string& key);
GenerationRequest read_ollama_generate(const ServedModel& model, const http::HttpRequest& request,
                                       const std::string& key);

/// Returns the tokens of a prompt, which is a string, a list of token ids, or a mixture of both.
/// Throws ApiError that names `name`.
std::vector<int32_t> prompt_of(const ServedModel& model, const Json& value, const std::string& name,
                               bool add_special = true);

}  // namespace longhaul::serve
