#pragma once
// A Conversation consists of messages, and of the tools that the model may call. Every chat API
// converts its requests to this form. The conversation is then rendered to the prompt of a job.

#include <optional>
#include <string>
#include <vector>

#include "serve/api/request.h"
#include "tokenizer/chat_template.h"

namespace longhaul::serve {

struct ToolChoice {
  enum class Kind : uint8_t { kAuto, kNone, kRequired, kFunction };
  Kind kind = Kind::kAuto;
  std::string function;  ///< name of the function, for kFunction

  bool demands_call() const { return kind == Kind::kRequired || kind == Kind::kFunction; }
};

/// A cache mark: a position up to which the client expects its next conversation to be equal to
/// this one.
struct CacheMark {
  size_t message = 0;  ///< index of a message
  size_t bytes = 0;    ///< bytes of this message's content before the mark
};

struct Conversation {
  /// The messages. Each is an object with "role" (system, user, assistant or tool) and "content" (a
  /// string or null). A message of the assistant may have "reasoning_content" and "tool_calls" as
  /// in OpenAI's Chat API, whose arguments are an object or JSON in a string. A message of a tool
  /// has "tool_call_id".
  Json messages = Json::array();
  Json tools;  ///< as in OpenAI's Chat API: {"type": "function", "function": {...}}; null: no tools
  ToolChoice choice;
  bool parallel_calls = true;
  /// False: the reasoning and the marks around it are part of the reply's text.
  bool shows_reasoning = true;
  std::optional<bool> thinking;  ///< whether the model reasons; empty: the template's default
  int64_t thinking_budget = -1;  ///< largest number of reasoning tokens; negative: no limit
  /// Reasoning effort "low", "medium" or "high"; empty: the template's default.
  std::string effort;
  Json variables;  ///< further variables of the chat template; null: none
  Json documents;  ///< documents for the chat template; null: none
  bool add_generation_prompt = true;
  std::string opening;  ///< text with which the reply begins; the model continues this text
  std::vector<CacheMark> marks;
};

/// Returns the content of a message. The result is empty if the content is null or absent.
std::string content_of(const Json& message);

/// Checks the names and schemas of tools. Throws ApiError that names the member if a member is
/// invalid. `name` is the path of `tools` in the request.
void check_tools(const Json& tools, const std::string& name);
/// Throws ApiError if the chosen function does not exist, or if a call is demanded and there are no
/// tools.
void check_choice(const Conversation& conversation);
/// Checks the calls in a message of the assistant. Throws ApiError if a call is malformed, for
/// example if its arguments are not JSON. `name` is the path of `calls` in the request.
void check_calls(Json& calls, const std::string& name);

/// The prompt that results from rendering a conversation with the chat template.
struct ConversationPrompt {
  std::vector<int32_t> tokens;
  /// Number of tokens at the end of the prompt: the last user message and everything after it.
  int64_t instruction = 0;
  std::string text;
  std::vector<int64_t> checkpoints;  ///< token offsets of the cache marks, in ascending order
  std::vector<PromptPart> parts;     ///< positions of the messages in `text`
  TurnForm form;                     ///< how to split the reply into text, reasoning and calls
  /// If the request demands a call, the grammar of this call. If calls are optional, a grammar that
  /// applies only after the mark that starts a call.
  std::optional<grammar::Constraint> constraint;
};
/// Renders the conversation with the model's chat template. `constrained` is true if the request
/// has another constraint for the reply, such as response_format. Throws ApiError, for example if
/// such a request also demands a call.
ConversationPrompt conversation_prompt(const ServedModel& model, Conversation conversation,
                                       bool constrained);

/// Renders the conversation. Sets the prompt, the checkpoints and the constraint of the job, and
/// the form of the reply in the request. All other members of `job.reply` must already be set.
void use_conversation(const ServedModel& model, Conversation conversation,
                      GenerationRequest& request, Job& job);

/// Reads messages, tools, tool_choice, parallel_tool_calls, reasoning_effort, reasoning_format and
/// chat_template_kwargs from a request body of OpenAI's Chat API. Throws ApiError that names the
/// member if a member is invalid.
Conversation read_conversation(const Json& body);
/// Returns the names of the members that read_conversation() reads.
std::vector<std::string_view> conversation_members();

}  // namespace longhaul::serve
