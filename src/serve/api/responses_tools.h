#pragma once
// Converts the tools of a Responses request to functions in the form of OpenAI's Chat API. When the
// model calls a function, find() returns the tool to which it belongs.

#include <map>
#include <string>
#include <vector>

#include "serve/api/conversation.h"

namespace longhaul::serve {

class ResponsesTools {
 public:
  /// A tool with the name that the client gave it.
  struct Named {
    std::string name, space;  ///< space: name of the tool's namespace; empty: none
    /// Whether this is a custom tool. Its input is free text, which is the argument "input" of the
    /// function.
    bool custom = false;
  };

  ResponsesTools() = default;
  /// Reads "tools" and "tool_choice"; both may be null. A tool of a namespace gets the function
  /// name SPACE.NAME. Tools that only OpenAI can run are omitted with a warning. Throws ApiError
  /// that names the member if a member is invalid.
  ResponsesTools(const Json* tools, const Json* choice, std::vector<std::string>& warnings);

  /// Returns the functions in the form of OpenAI's Chat API, or null if there are none.
  const Json& functions() const { return functions_; }
  const ToolChoice& choice() const { return choice_; }
  /// Returns the tool that was converted to the function of this name, or null if there is none.
  const Named* find(const std::string& function) const;
  static std::string function_of(const std::string& space, const std::string& name) {
    return space.empty() ? name : space + "." + name;
  }

 private:
  void add(const Json& tool, const std::string& space, const std::string& where,
           std::vector<std::string>& warnings);
  void add_function(const Json& tool, Named named, const std::string& where);
  void read_choice(const Json& choice);
  void allow_only(const Json& tools);
  std::string chosen_function(const Json& choice, const std::string& where) const;

  Json functions_;
  std::map<std::string, Named> named_;
  std::vector<std::string> hosted_;  ///< types of the omitted tools
  ToolChoice choice_;
};

}  // namespace longhaul::serve
