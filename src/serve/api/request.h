#pragma once
// Defines a client's request for replies in a form that is independent of the API.

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

/// Describes how to split the reply of a chat API into text, reasoning and tool calls.
struct TurnForm {
  ReplyFormat format;
  OfferedTools tools;
  /// Text that the server appended to the rendered prompt, such as the closing mark of the
  /// reasoning or the beginning of a demanded call. The parser of the reply reads this text first.
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
  int best = 0;  ///< number of most likely tokens to report for each token
  int choices = 1;
  /// Seed of the sampler, drawn or given by the client; empty: greedy sampling.
  std::optional<uint64_t> seed;
  std::vector<std::string> warnings;
  TurnForm form;                                      ///< only for chat APIs
  std::string note;                                   ///< a line that is written to the log
  std::shared_ptr<const ResponsesRequest> responses;  ///< only for kResponses
  /// Only for Ollama's API: "load" or "unload" for a request without a prompt, which needs no
  /// generated reply; null for other requests.
  const char* ends_at_once = nullptr;
  std::vector<QuestionDocument> documents;  ///< documents that the request names, in order
  /// Finds citations; null: the reply cites no documents.
  std::shared_ptr<const Citations> citations;
  /// Contents of the messages, for reports about sources; empty: not needed.
  std::vector<std::string> message_texts;
  /// Runs a task on a thread of the text pool (serve/text_pool.h). Returns false if too many tasks
  /// wait. Null if there is no such pool.
  std::function<bool(std::function<void()>)> run;
};

/// Each of the following functions reads the body of a request, and throws ApiError if the body is
/// invalid. `key` is the name of the API key. read_chat() reads POST /v1/chat/completions.
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
/// Throws ApiError that names the member `name` if `value` has another form.
std::vector<int32_t> prompt_of(const ServedModel& model, const Json& value, const std::string& name,
                               bool add_special = true);

}  // namespace longhaul::serve
