#include "grammar/string_schema.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "grammar/schema_limits.h"
#include "text/printable.h"

namespace longhaul::grammar {
namespace {

/// Patterns of formats. Formats that are not here restrict nothing, as the standard allows.
const char* pattern_of_format(const std::string& format) {
  // A year from 0001 on with any day of its months but 29 February, or a leap year with that day.
  static const std::string date =
      "(([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-"
      "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
      "02-(0[1-9]|1[0-9]|2[0-8]))"
      "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)";
  static const std::string time =
      "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]"
      ")";
  static const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
  static const std::unordered_map<std::string, std::string> patterns = {
      {"date", "^" + date + "$"},
      {"time", "^" + time + "$"},
      {"date-time", "^" + date + "T" + time + "$"},
      {"duration",
       "^P([0-9]+W|([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)"
       "(T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S))?"
       "|T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S))$"},
      {"uuid", "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
      {"ipv4", "^" + byte + "(\\." + byte + "){3}$"},
      {"email",
       "^[A-Za-z0-9_%+'-]+(\\.[A-Za-z0-9_%+'-]+)*@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
       "(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$"},
      {"hostname",
       "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
       "(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$"},
      {"uri", "^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+$"}};
  const auto found = patterns.find(format);
  return found == patterns.end() ? nullptr : found->second.c_str();
}

}  // namespace

RegexTree pattern_tree(const std::string& pattern) {
  try {
    return without_anchors(parse_regex(pattern), RegexSpan::kAnywhere, any_characters());
  } catch (const UserError& error) {
    user_error("pattern {}: {}", printable(pattern), error.what());
  }
}

Expression string_schema(const Schema& schema, JsonRules& json) {
  const auto [low, high] = count_limits(schema, "minLength", "maxLength");
  std::string pattern;
  if (schema.contains("pattern")) {
    if (!schema["pattern"].is_string()) user_error("pattern is not a text");
    pattern = schema["pattern"];
  } else if (schema.contains("format") && schema["format"].is_string()) {
    const char* known = pattern_of_format(schema["format"]);
    if (known == nullptr) return json.string_of_length(low, high);
    pattern = known;
  } else {
    return json.string_of_length(low, high);
  }
  if (high != kUnlimited && low > high) return json.syntax().nothing();
  const RegexTree tree = pattern_tree(pattern);
  try {
    return json.string_like(tree, low, high);
  } catch (const UserError& error) {
    user_error("pattern {}: {}", printable(pattern), error.what());
  }
}

}  // namespace longhaul::grammar
