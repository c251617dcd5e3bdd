#include "serve/api/responses_tools.h"

#include <algorithm>
#include <set>

#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostListed = 512, kLongestPart = 64;

/// A required name of a tool or a namespace.
std::string listed_name(const Json& owner, const std::string& where) {
  const auto name = FieldReader(owner).text("name");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (!name) refuse_field(where + ".name", "is missing");
  if (name->empty() || name->size() > kLongestPart ||
      !std::all_of(name->begin(), name->end(), plain)) {
    refuse_field(where + ".name", "{} is no name of 1 to {} letters, digits, and characters of _-.",
                 printable(*name), kLongestPart);
  }
  return *name;
}

std::string listed_type(const Json& tool, const std::string& where) {
  if (!tool.is_object()) refuse_field(where, "is no object");
  const auto type = tool.find("type");
  if (type == tool.end() || !type->is_string())
    refuse_field(where + ".type", "is missing or no text");
  return type->get<std::string>();
}

/// The model has to know that the argument is free text, and which syntax the text has.
std::string custom_description(const Json& tool, const std::string& where) {
  std::string text = FieldReader(tool).text("description").value_or("");
  if (!text.empty()) text += "\n";
  text += "The argument \"input\" is free text.";
  const auto format = tool.find("format");
  if (format == tool.end() || format->is_null()) return text;
  if (!format->is_object()) refuse_field(where + ".format", "is no object");
  const FieldReader fields(*format);
  const std::string type = fields.text("type").value_or("text");
  if (type == "text") return text;
  if (type != "grammar") {
    refuse_field(where + ".format.type", "{} is not text or grammar", printable(type));
  }
  const auto definition = fields.text("definition");
  if (!definition) refuse_field(where + ".format.definition", "is missing");
  return text + " It follows this grammar (" + fields.text("syntax").value_or("lark") + "):\n" +
         *definition;
}

Json input_schema() {
  return {{"type", "object"},
          {"properties", {{"input", {{"type", "string"}}}}},
          {"required", {"input"}},
          {"additionalProperties", false}};
}

}  // namespace

ResponsesTools::ResponsesTools(const Json* tools, const Json* choice,
                               std::vector<std::string>& warnings) {
  if (tools != nullptr) {
    if (!tools->is_array()) refuse_field("tools", "is no list of tools");
    if (tools->size() > kMostListed) {
      refuse_field("tools", "{} tools; at most {}", tools->size(), kMostListed);
    }
    for (size_t i = 0; i < tools->size(); ++i) {
      add((*tools)[i], "", fmt::format("tools[{}]", i), warnings);
    }
  }
  if (choice != nullptr) read_choice(*choice);
}

void ResponsesTools::add(const Json& tool, const std::string& space, const std::string& where,
                         std::vector<std::string>& warnings) {
  const std::string type = listed_type(tool, where);
  if (type == "function" || type == "custom") {
    return add_function(tool, {listed_name(tool, where), space, type == "custom"}, where);
  }
  if (type != "namespace") {
    hosted_.push_back(type);
    warnings.push_back(fmt::format("{}: {} was left out, because this server runs no tools itself",
                                   where, one_line(type.substr(0, kLongestPart))));
    return;
  }
  if (!space.empty()) refuse_field(where, "is a namespace within a namespace");
  const std::string name = listed_name(tool, where);
  const auto tools = tool.find("tools");
  if (tools == tool.end() || !tools->is_array() || tools->size() > kMostListed) {
    refuse_field(where + ".tools", "is no list of at most {} tools", kMostListed);
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    add((*tools)[i], name, fmt::format("{}.tools[{}]", where, i), warnings);
  }
}

void ResponsesTools::add_function(const Json& tool, Named named, const std::string& where) {
  const std::string name = function_of(named.space, named.name);
  Json function = {{"name", name}};
  if (named.custom) {
    function["description"] = custom_description(tool, where);
    function["parameters"] = input_schema();
  } else {
    if (const auto text = FieldReader(tool).text("description")) function["description"] = *text;
    if (const auto schema = tool.find("parameters"); schema != tool.end() && !schema->is_null()) {
      if (!schema->is_object()) refuse_field(where + ".parameters", "is no object");
      function["parameters"] = *schema;
    }
  }
  if (!named_.emplace(name, std::move(named)).second) {
    refuse_field(where + ".name", "{} occurs twice", printable(name));
  }
  if (named_.size() > kMostListed) {
    refuse_field("tools", "more than {} functions", kMostListed);
  }
  if (functions_.is_null()) functions_ = Json::array();
  functions_.push_back({{"type", "function"}, {"function", std::move(function)}});
}

/// A function in tool_choice.
std::string ResponsesTools::chosen_function(const Json& choice, const std::string& where) const {
  const std::string type = listed_type(choice, where);
  if (type != "function" && type != "custom") {
    refuse_field(where, "demands {}, and this server runs no tools itself",
                 one_line(type.substr(0, kLongestPart)));
  }
  const FieldReader fields(choice);
  const std::string name =
      function_of(fields.text("namespace").value_or(""), fields.text("name").value_or(""));
  if (find(name) == nullptr) refuse_field(where, "no tool is named {}", printable(name));
  return name;
}

void ResponsesTools::allow_only(const Json& tools) {
  if (!tools.is_array()) refuse_field("tool_choice.tools", "is no list of tools");
  std::set<std::string> allowed;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string where = fmt::format("tool_choice.tools[{}]", i);
    const std::string type = listed_type(tools[i], where);
    if (std::find(hosted_.begin(), hosted_.end(), type) != hosted_.end()) continue;
    allowed.insert(chosen_function(tools[i], where));
  }
  Json left = Json::array();
  for (Json& tool : functions_) {
    if (allowed.contains(tool["function"]["name"].get<std::string>()))
      left.push_back(std::move(tool));
  }
  functions_ = left.empty() ? Json() : std::move(left);
}

void ResponsesTools::read_choice(const Json& choice) {
  using Kind = ToolChoice::Kind;
  std::string mode = choice.is_string() ? choice.get<std::string>() : "";
  if (choice.is_object()) {
    if (choice.value("type", Json()) != "allowed_tools") {
      choice_ = {Kind::kFunction, chosen_function(choice, "tool_choice")};
      return;
    }
    allow_only(choice.value("tools", Json()));
    mode = FieldReader(choice).text("mode").value_or("auto");
  }
  if (mode == "none") {
    choice_.kind = Kind::kNone;
  } else if (mode == "required") {
    if (functions_.is_null()) {
      refuse_field("tool_choice", "demands a call, and there is no tool that the client runs");
    }
    choice_.kind = Kind::kRequired;
  } else if (mode != "auto") {
    refuse_field("tool_choice", "is not \"auto\", \"none\", \"required\", or a tool");
  }
}

const ResponsesTools::Named* ResponsesTools::find(const std::string& function) const {
  const auto found = named_.find(function);
  return found == named_.end() ? nullptr : &found->second;
}

}  // namespace longhaul::serve
