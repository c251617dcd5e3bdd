#include "serve/api/responses_input.h"

#include <set>

#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "serve/api/responses_tools.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostItems = 20'000, kShownType = 64;

std::string required_text(const Json& item, const char* name, const std::string& where) {
  const auto value = item.find(name);
  if (value == item.end() || value->is_null()) refuse_field(where + "." + name, "is missing");
  if (!value->is_string()) refuse_field(where + "." + name, "is no text");
  return value->get<std::string>();
}

/// The text of {"type": "input_file", "file_id": ID}.
std::string text_of_file(const Json& part, const std::string& where, InputFiles& files) {
  const auto id = part.find("file_id");
  if (id == part.end() || !id->is_string()) {
    refuse_field(where + ".file_id", "is missing: send the file to /v1/files first");
  }
  QuestionDocument file = files.find(id->get<std::string>());
  file.gate = nullptr;  // its text is read with the question
  files.found.push_back(file);
  return file.text->document.text;
}

/// A text, or parts with texts. `files`: null where no file can be named.
std::string text_of_parts(const Json& parts, const std::string& where,
                          InputFiles* files = nullptr) {
  if (parts.is_string()) return parts.get<std::string>();
  if (!parts.is_array()) refuse_field(where, "is neither a text nor a list of parts");
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = fmt::format("{}[{}]", where, i);
    if (!parts[i].is_object()) refuse_field(part, "is no object");
    const std::string type = required_text(parts[i], "type", part);
    if (i > 0) text += "\n";
    if (type == "input_file" && files != nullptr) {
      text += text_of_file(parts[i], part, *files);
      continue;
    }
    const bool refusal = type == "refusal";
    const bool is_text = type == "input_text" || type == "output_text" || type == "text" ||
                         type == "summary_text" || type == "reasoning_text";
    if (!is_text && !refusal) {
      refuse_field(part + ".type", "{} cannot be read: this model reads text only",
                   printable(type.substr(0, kShownType)));
    }
    text += required_text(parts[i], refusal ? "refusal" : "text", part);
  }
  return text;
}

/// Builds messages. Reasoning, text and calls of one reply become one message.
class InputReader {
 public:
  InputReader(const Json& before, std::vector<std::string>& warnings, InputFiles& files)
      : warnings_(warnings), files_(files) {
    for (const Json& message : before) {
      for (const Json& call : message.value("tool_calls", Json::array())) {
        open_calls_[call["id"]] = call["function"]["name"];
      }
      if (message.contains("tool_call_id")) answered_.insert(message["tool_call_id"]);
    }
  }

  void read(const Json& item, const std::string& where) {
    if (!item.is_object()) refuse_field(where, "is no object");
    const bool bare = !item.contains("type") && item.contains("role");
    const std::string type = bare ? "message" : required_text(item, "type", where);
    if (type == "message") {
      read_message(item, where);
    } else if (type == "reasoning") {
      read_thought(item, where);
    } else if (type == "function_call" || type == "custom_tool_call") {
      read_call(item, where, type == "custom_tool_call");
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      read_result(item, where);
    } else if (type == "item_reference") {
      refuse_field(where, "references to items are not kept: send the item itself");
    } else {
      warnings_.push_back(fmt::format("{}: an item of the type {} was left out", where,
                                      one_line(type.substr(0, kShownType))));
    }
  }

  Json take() {
    end_turn();
    return std::move(messages_);
  }

 private:
  void end_turn() {
    if (turn_.is_null()) return;
    // Some templates trim the content, which fails for null.
    if (!turn_.contains("content")) turn_["content"] = "";
    messages_.push_back(std::exchange(turn_, Json()));
  }
  Json& turn() {
    if (turn_.is_null()) turn_ = {{"role", "assistant"}};
    return turn_;
  }

  void read_message(const Json& item, const std::string& where) {
    const std::string role = required_text(item, "role", where);
    const auto content = item.find("content");
    if (content == item.end()) refuse_field(where + ".content", "is missing");
    const std::string text = text_of_parts(*content, where + ".content", &files_);
    if (role == "assistant") {
      if (turn().contains("content") || turn().contains("tool_calls")) end_turn();
      turn()["content"] = text;
      return;
    }
    if (role != "user" && role != "system" && role != "developer") {
      refuse_field(where + ".role", "{} is not user, assistant, system or developer",
                   printable(role.substr(0, kShownType)));
    }
    end_turn();
    messages_.push_back({{"role", role == "developer" ? "system" : role}, {"content", text}});
  }

  /// The whole reasoning is in "content", or in "summary" if the client asked for a summary.
  void read_thought(const Json& item, const std::string& where) {
    std::string text;
    for (const char* name : {"content", "summary"}) {
      const auto parts = item.find(name);
      if (parts == item.end() || parts->is_null() || !text.empty()) continue;
      text = text_of_parts(*parts, where + "." + name);
    }
    if (!turn_.is_null()) end_turn();
    if (!text.empty()) turn()["reasoning_content"] = text;
  }

  void read_call(const Json& item, const std::string& where, bool custom) {
    const std::string id = required_text(item, "call_id", where);
    const std::string name = ResponsesTools::function_of(
        FieldReader(item).text("namespace").value_or(""), required_text(item, "name", where));
    std::string arguments = required_text(item, custom ? "input" : "arguments", where);
    if (custom) arguments = text_of({{"input", arguments}});
    if (arguments.empty()) arguments = "{}";
    if (!Json::accept(arguments)) refuse_field(where + ".arguments", "are not JSON");
    if (!open_calls_.emplace(id, name).second) {
      refuse_field(where + ".call_id", "{} is the id of two calls",
                   printable(id.substr(0, kShownType)));
    }
    Json& calls = turn()["tool_calls"];
    if (calls.is_null()) calls = Json::array();
    calls.push_back({{"id", id},
                     {"type", "function"},
                     {"function", {{"name", name}, {"arguments", arguments}}}});
  }

  void read_result(const Json& item, const std::string& where) {
    const std::string id = required_text(item, "call_id", where);
    const std::string shown = printable(id.substr(0, kShownType));
    const auto call = open_calls_.find(id);
    if (call == open_calls_.end()) {
      refuse_field(where + ".call_id", "no call before this result has the id {}", shown);
    }
    if (!answered_.insert(id).second) {
      refuse_field(where + ".call_id", "the call {} has a result already", shown);
    }
    const auto output = item.find("output");
    if (output == item.end()) refuse_field(where + ".output", "is missing");
    end_turn();
    messages_.push_back({{"role", "tool"},
                         {"tool_call_id", id},
                         {"name", call->second},
                         {"content", text_of_parts(*output, where + ".output")}});
  }

  std::vector<std::string>& warnings_;
  InputFiles& files_;
  Json messages_ = Json::array();
  Json turn_;  ///< the open message of the assistant; null: none
  std::map<std::string, std::string> open_calls_;  ///< ids of calls and names of their functions
  std::set<std::string> answered_;
};

}  // namespace

Json messages_of_input(const Json& input, const Json& before, std::vector<std::string>& warnings,
                       InputFiles& files) {
  if (input.is_string()) {
    return Json::array({{{"role", "user"}, {"content", input}}});
  }
  if (!input.is_array()) refuse_field("input", "is neither a text nor a list of items");
  if (input.size() > kMostItems) {
    refuse_field("input", "{} items; at most {}", input.size(), kMostItems);
  }
  InputReader reader(before, warnings, files);
  for (size_t i = 0; i < input.size(); ++i) reader.read(input[i], fmt::format("input[{}]", i));
  return reader.take();
}

Json with_instructions(const std::string& instructions, Json messages) {
  std::string system = instructions;
  size_t first = 0;
  for (; first < messages.size() && messages[first]["role"] == "system"; ++first) {
    if (!system.empty()) system += "\n\n";
    system += messages[first]["content"].get_ref<const std::string&>();
  }
  if (system.empty() && first == 0) return messages;
  Json all = Json::array({{{"role", "system"}, {"content", system}}});
  for (size_t i = first; i < messages.size(); ++i) all.push_back(std::move(messages[i]));
  return all;
}

}  // namespace longhaul::serve
