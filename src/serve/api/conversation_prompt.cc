// Conversations to prompts, by the model's template.

#include <algorithm>

#include "base/error.h"
#include "engine/prompt_tokens.h"
#include "serve/api/api_error.h"
#include "serve/api/cache_fields.h"
#include "serve/api/call_form.h"
#include "serve/api/conversation.h"
#include "serve/api/reply_form.h"
#include "serve/api/tool_texts.h"
#include "serve/documents/asked_documents.h"
#include "tokenizer/chat_request.h"

namespace longhaul::serve {
namespace {

constexpr size_t kShortId = 9;  // Mistral's templates refuse ids of another length

/// Nine letters and digits that depend on the client's id alone.
std::string short_id(const std::string& id) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (id.size() == kShortId && std::all_of(id.begin(), id.end(), plain)) return id;
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string made;
  for (size_t i = 0; i < kShortId; ++i, hash /= kDigits.size()) {
    made += kDigits[hash % kDigits.size()];
  }
  return made;
}

/// Arguments as a text or an object, whichever the template prints as JSON.
void settle_arguments(Json& arguments, bool as_text) {
  if (as_text) {
    if (!arguments.is_string()) arguments = spaced_text_of(arguments);
    return;
  }
  if (!arguments.is_string()) return;
  Json parsed = Json::parse(arguments.get_ref<const std::string&>(), nullptr, false);
  if (parsed.is_object()) arguments = std::move(parsed);
}

/// Brings calls into the form that the template expects.
void settle_calls(Json& messages, const ReplyFormat& format) {
  const bool short_ids = format.family == CallFamily::kMistral;
  const bool as_text = format.arguments_as_text || format.family == CallFamily::kNone;
  for (Json& message : messages) {
    if (const auto calls = message.find("tool_calls"); calls != message.end()) {
      if (message["content"].is_null()) message["content"] = "";  // some templates search in it
      for (Json& call : *calls) {
        call["type"] = "function";
        settle_arguments(call["function"]["arguments"], as_text);
        if (short_ids) call["id"] = short_id(call.value("id", Json("")).dump());
      }
    }
    const auto id = message.find("tool_call_id");
    if (short_ids && id != message.end()) *id = short_id(id->dump());
  }
}

/// Tools with all members that templates read.
Json tools_for_template(const Json& tools) {
  Json all = Json::array();
  for (const Json& tool : tools) {
    const Json& given = tool["function"];
    Json function = {{"name", given["name"]}, {"description", ""}};
    function["parameters"] = {{"type", "object"}, {"properties", Json::object()}};
    for (const auto& [name, value] : given.items()) {
      if (!value.is_null()) function[name] = value;
    }
    all.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return all;
}

/// Variables by which templates switch reasoning.
Json template_variables(const Conversation& conversation) {
  Json variables = conversation.variables;
  const auto set = [&](const char* name, const Json& value) {
    if (!variables.is_object()) variables = Json::object();
    if (!variables.contains(name)) variables[name] = value;
  };
  if (conversation.thinking) {
    set("enable_thinking", *conversation.thinking);
    set("thinking", *conversation.thinking);
  }
  if (!conversation.effort.empty()) set("reasoning_effort", conversation.effort);
  return variables;
}

bool ends_with_mark(std::string_view text, const std::string& mark) {
  const size_t last = text.find_last_not_of(" \n");
  if (mark.empty() || last == std::string_view::npos) return false;
  return text.substr(0, last + 1).ends_with(mark);
}

/// The place of each cache mark in the prompt's text, as far as the template shows the contents.
std::vector<size_t> mark_places(const Conversation& conversation, const std::string& text) {
  std::vector<size_t> places;
  size_t from = 0, message = 0;
  for (const CacheMark& mark : conversation.marks) {
    for (; message <= mark.message && message < conversation.messages.size(); ++message) {
      const std::string content = content_of(conversation.messages[message]);
      const bool marked = message == mark.message;
      const std::string shown = marked ? content.substr(0, mark.bytes) : content;
      const size_t begin = shown.find_first_not_of(" \n\t\r");
      const size_t end = shown.find_last_not_of(" \n\t\r");
      if (begin != std::string::npos) {
        const size_t found = text.find(shown.substr(begin, end + 1 - begin), from);
        if (found == std::string::npos) return places;
        if (marked) {
          places.push_back(found + (end + 1 - begin));
          break;  // further marks may be in the same message
        }
        from = found + (end + 1 - begin);
      } else if (marked) {  // before the message's content
        const size_t found =
            text.find(content.substr(0, content.find_last_not_of(" \n\t\r") + 1), from);
        places.push_back(found == std::string::npos ? from : found);
        break;
      }
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

/// Token offsets of places in the text: the last boundary that is not behind the place.
std::vector<int64_t> token_offsets(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                   const std::vector<size_t>& places) {
  std::vector<int64_t> offsets;
  size_t bytes = 0;
  auto place = places.begin();
  for (size_t i = 0; i < tokens.size() && place != places.end(); ++i) {
    bytes += tokenizer.piece(tokens[i]).size();
    while (place != places.end() && bytes > *place) {
      if (offsets.empty() || offsets.back() != static_cast<int64_t>(i)) {
        offsets.push_back(static_cast<int64_t>(i));
      }
      ++place;
    }
  }
  std::erase(offsets, 0);
  return offsets;
}

/// Whether the tokenizer has the mark as a control token, which is otherwise left out of texts.
bool is_control_mark(const Tokenizer& tokenizer, const std::string& mark) {
  if (mark.empty()) return false;
  const auto tokens = tokenizer.encode(mark, {.add_special = false, .parse_special = true});
  return tokens.size() == 1 && tokenizer.is_special(tokens[0]);
}

/// The format of the reply to a request that offers tools, or does not.
ReplyFormat format_of_request(const ReplyFormat& of_model, const Conversation& conversation,
                              bool offers) {
  ReplyFormat format = of_model;
  if (!offers && format.family != CallFamily::kChannels) format.family = CallFamily::kNone;
  if (offers && format.family == CallFamily::kNone) format.family = CallFamily::kBareJson;
  if (!conversation.shows_reasoning) format.reasoning_open.clear();
  return format;
}

/// The texts around reasoning that a budget ends.
ReasoningLimit limit_of(const ReplyFormat& format, int64_t budget) {
  if (format.family == CallFamily::kChannels) {
    return {budget, "<|channel|>analysis<|message|>", "<|end|>",
            "<|end|><|start|>assistant<|channel|>final<|message|>", false};
  }
  if (format.reasoning_open.empty()) return {};
  return {budget, format.reasoning_open, format.reasoning_close,
          "\n" + format.reasoning_close + "\n\n", format.begins_in_reasoning};
}

/// Prepares a reply that has a form from its beginning, or calls that have one. A reply with a form
/// does not begin with reasoning, so that an open mark of reasoning is closed.
void hold_to_form(const ServedModel& model, const Conversation& conversation, bool offers,
                  bool constrained, ConversationPrompt& made) {
  const bool demands = offers && conversation.choice.demands_call();
  if (demands && constrained) {
    refuse_field("tool_choice", "demands a call, and the reply has another form already");
  }
  if (demands && !conversation.opening.empty()) {
    refuse_field("tool_choice", "demands a call, and the last message is the beginning of a reply");
  }
  std::string& end = made.form.prompt_end;
  const bool begun = demands || constrained || !conversation.opening.empty();
  if (begun && made.form.format.begins_in_reasoning) {
    end = made.form.format.reasoning_close + "\n\n";
  }
  if (demands) {
    const KeptForm call = demanded_call(model, made.form.format, conversation);
    end += call.prompt_end;
    made.constraint = call.constraint;
    made.form.one_call = true;
  } else if (offers && !constrained) {
    made.constraint = call_constraint(model, made.form.format, conversation.tools);
  }
  const auto append = [&](const std::string& text, bool control_tokens) {
    if (text.empty()) return;
    const auto more = model.engine->tokenizer().encode(
        text, {.add_special = false, .parse_special = control_tokens});
    made.tokens.insert(made.tokens.end(), more.begin(), more.end());
    made.instruction += std::ssize(more);
    made.text += text;
  };
  append(end, true);
  append(conversation.opening, false);
}

}  // namespace

ConversationPrompt conversation_prompt(const ServedModel& model, Conversation conversation,
                                       bool constrained) {
  if (!model.chat) {
    throw ApiError(400, "invalid_request_error", "no_chat_template", model.chat_problem);
  }
  const bool offers = conversation.tools.is_array() && !conversation.tools.empty() &&
                      conversation.choice.kind != ToolChoice::Kind::kNone;
  ConversationPrompt made;
  ReplyFormat& format = made.form.format;
  format = format_of_request(model.reply_format, conversation, offers);
  const std::string question = question_after_documents(conversation.messages);
  settle_calls(conversation.messages, model.reply_format);
  if (model.reply_format.family == CallFamily::kNone) {
    write_calls_as_texts(conversation.messages);
  }
  if (offers && !model.reply_format.offers_tools) {
    const size_t before = conversation.messages.size();
    describe_tools(conversation.messages, conversation.tools);
    const size_t added = conversation.messages.size() - before;
    for (CacheMark& mark : conversation.marks) mark.message += added;
  }
  ChatRequest chat;
  chat.messages = conversation.messages;
  if (offers && model.reply_format.offers_tools)
    chat.tools = tools_for_template(conversation.tools);
  chat.documents = conversation.documents;
  chat.variables = template_variables(conversation);
  chat.add_generation_prompt = conversation.add_generation_prompt;
  const Tokenizer& tokenizer = model.engine->tokenizer();
  try {
    const PromptText prompt{model.chat->segments(chat), false};
    PromptTokens tokens = prompt_tokens(tokenizer, prompt, question);
    made.tokens = std::move(tokens.tokens);
    made.instruction = tokens.instruction;
    made.text = prompt.text();
  } catch (const UserError& error) {
    refuse_field("messages", "{}", error.what());
  }
  made.parts = parts_of(made.text, chat.messages, !chat.tools.empty());
  made.checkpoints = token_offsets(tokenizer, made.tokens, mark_places(conversation, made.text));
  format.begins_in_reasoning =
      conversation.shows_reasoning && ends_with_mark(made.text, format.reasoning_open);
  made.form.one_call = offers && !conversation.parallel_calls;
  if (offers) made.form.tools = OfferedTools(conversation.tools);
  hold_to_form(model, conversation, offers, constrained, made);
  return made;
}

void use_conversation(const ServedModel& model, Conversation conversation,
                      GenerationRequest& request, Job& job) {
  const int64_t budget = conversation.thinking_budget;
  ConversationPrompt made =
      conversation_prompt(model, std::move(conversation), job.reply.constraint.has_value());
  job.prompt = std::move(made.tokens);
  job.instruction = made.instruction;
  job.checkpoints = std::move(made.checkpoints);
  job.parts = std::move(made.parts);
  if (made.constraint) job.reply.constraint = std::move(made.constraint);
  const ReplyFormat& format = made.form.format;
  job.reply.control_texts = format.needs_control_texts() ||
                            is_control_mark(model.engine->tokenizer(), format.reasoning_open);
  const bool reasons = made.form.prompt_end.empty();
  if (budget >= 0 && reasons) job.reply.reasoning = limit_of(format, budget);
  request.form = std::move(made.form);
}

}  // namespace longhaul::serve
