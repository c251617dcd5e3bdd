#pragma once
// A conversation with tools: the form into which every chat API converts its requests, and which
// becomes the prompt of a job.

#include <optional>
#include <string>
#include <vector>

#include "serve/api/request.h"
#include "tokenizer/chat_template.h"

namespace longhaul::serve {

struct ToolChoice {
  enum class Kind : uint8_t { kAuto, kNone, kRequired, kFunction };
  Kind kind = Kind::kAuto;
  std::string function;  ///< for kFunction

  bool demands_call() const { return kind == Kind::kRequired || kind == Kind::kFunction; }
};

/// A place in the conversation up to which a client expects the next prompt to be equal.
struct CacheMark {
  size_t message = 0;  ///< index of a message
  size_t bytes = 0;    ///< bytes of this message's content before the mark
};

struct Conversation {
  /// Objects with "role" (system, user, assistant or tool) and "content" (a text or null). An
  /// assistant's message may have "reasoning_content" and "tool_calls" as in OpenAI's Chat API,
  /// whose arguments are JSON as a text or an object. A tool's message has "tool_call_id".
  Json messages = Json::array();
  Json tools;  ///< as in OpenAI's Chat API: {"type": "function", "function": {...}}; null: none
  ToolChoice choice;
  bool parallel_calls = true;
  bool shows_reasoning = true;   ///< false: reasoning and its marks are text
  std::optional<bool> thinking;  ///< whether the model reasons; none: the template's default
  int64_t thinking_budget = -1;  ///< most tokens of reasoning; negative: no limit
  std::string effort;            ///< "low", "medium", "high"; empty: the template's default
  Json variables;                ///< further variables of the template; null: none
  Json documents;                ///< null: none
  bool add_generation_prompt = true;
  std::string opening;  ///< the reply continues this text, which is not part of it
  std::vector<CacheMark> marks;
};

/// A text of a message that is null or absent counts as empty.
std::string content_of(const Json& message);

/// Checks names and schemas of tools. Throws ApiError that names the field; `name`: that of the
/// list.
void check_tools(const Json& tools, const std::string& name);
/// Checks that the chosen function exists, and that there are tools if a call is demanded.
void check_choice(const Conversation& conversation);
/// Checks the calls of an assistant's message: names, and arguments that are JSON. `name`: that of
/// the list.
void check_calls(Json& calls, const std::string& name);

/// The prompt of a conversation.
struct ConversationPrompt {
  std::vector<int32_t> tokens;
  int64_t instruction = 0;  ///< tokens at the end that belong to the last question
  std::string text;
  std::vector<int64_t> checkpoints;  ///< token offsets of the cache marks, ascending
  std::vector<PromptPart> parts;     ///< parts of `text`
  TurnForm form;                     ///< how the reply is divided
  std::optional<grammar::Constraint>
      constraint;  ///< a demanded call, or the form from the start of one
};
/// Renders the conversation through the model's template. `constrained`: the reply already has a
/// form, which excludes a demanded call. Throws ApiError.
ConversationPrompt conversation_prompt(const ServedModel& model, Conversation conversation,
                                       bool constrained);

/// Renders the conversation and gives prompt, checkpoints and constraint to the job, and the
/// reply's form to the request. `job.reply` is filled in except for these.
void use_conversation(const ServedModel& model, Conversation conversation,
                      GenerationRequest& request, Job& job);

/// Reads messages, tools, tool_choice, parallel_tool_calls, reasoning_effort, reasoning_format and
/// chat_template_kwargs of a body of OpenAI's Chat API. Throws ApiError.
Conversation read_conversation(const Json& body);
/// Members that read_conversation() reads.
std::vector<std::string_view> conversation_members();

}  // namespace longhaul::serve
