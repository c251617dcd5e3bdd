#pragma once
// Tools of a Responses request as functions of a conversation, and their names on the way back.

#include <map>
#include <string>
#include <vector>

#include "serve/api/conversation.h"

namespace longhaul::serve {

class ResponsesTools {
 public:
  /// A function as the client named it.
  struct Named {
    std::string name, space;  ///< space: name of the namespace, or empty
    bool custom = false;      ///< free text, which is the argument "input" of the function
  };

  ResponsesTools() = default;
  /// Reads "tools" and "tool_choice"; both may be null. Tools of a namespace get the name
  /// SPACE.NAME. Tools that only OpenAI runs are left out with a warning. Throws ApiError that
  /// names the field.
  ResponsesTools(const Json* tools, const Json* choice, std::vector<std::string>& warnings);

  /// In the form of OpenAI's Chat API; null if there are none.
  const Json& functions() const { return functions_; }
  const ToolChoice& choice() const { return choice_; }
  /// Null for a name that the request does not have.
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
  std::vector<std::string> hosted_;  ///< types of tools that were left out
  ToolChoice choice_;
};

}  // namespace longhaul::serve
