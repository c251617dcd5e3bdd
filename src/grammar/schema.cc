#include "grammar/schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "grammar/json_rules.h"
#include "grammar/number_range.h"
#include "grammar/schema_limits.h"
#include "grammar/schema_merge.h"
#include "grammar/string_schema.h"
#include "text/json_text.h"
#include "text/printable.h"

namespace longhaul::grammar {
namespace {

constexpr int kDeepestSchema = 64;
constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostAlternatives = 4096;
constexpr size_t kMostValues = 65'536;

/// Keywords for values of one type.
struct TypeKeywords {
  const char* type;
  std::vector<std::string> keywords;
};

const std::vector<TypeKeywords>& type_keywords() {
  static const std::vector<TypeKeywords> all = {
      {"object", {"properties", "required", "additionalProperties", "patternProperties"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems"}},
      {"string", {"pattern", "format", "minLength", "maxLength"}},
      {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}}};
  return all;
}

class SchemaReader {
 public:
  SchemaReader(const Schema& root, Syntax& syntax) : root_(root), syntax_(syntax), json_(syntax) {}

  Expression read() {
    const Expression e = value(root_, 0);
    if (unsupported_.empty()) return e;
    std::string names;
    for (const std::string& name : unsupported_) names += (names.empty() ? "" : ", ") + name;
    user_error("unsupported keyword{} {}", unsupported_.size() > 1 ? "s" : "", names);
  }

 private:
  /// The values that a schema allows.
  Expression value(const Schema& schema, int depth) {
    if (depth > kDeepestSchema) user_error("schemas nest deeper than {}", kDeepestSchema);
    if (schema == true) return json_.any_value();
    if (schema == false) return syntax_.nothing();
    if (!schema.is_object()) user_error("a schema is neither an object nor true or false");
    if (schema.contains("$ref") && only_annotations_beside(schema, "$ref")) {
      if (!schema["$ref"].is_string()) user_error("$ref is not a text");
      return reference(schema["$ref"]);
    }
    if (schema.contains("$ref") || schema.contains("allOf") || schema.contains("const")) {
      return flat_value(flattened(root_, schema), depth);
    }
    return flat_value(schema, depth);
  }

  static bool only_annotations_beside(const Schema& schema, const std::string& keyword) {
    for (const auto& [key, unused] : schema.items()) {
      if (key != keyword && !is_annotation(key)) return false;
    }
    return true;
  }

  Expression reference(const std::string& name) {
    if (const auto known = references_.find(name); known != references_.end()) {
      return syntax_.call(known->second);
    }
    const Schema& target = referred_schema(root_, name);
    const RuleNumber rule = syntax_.add_rule("$ref " + printable(name));
    references_[name] = rule;
    syntax_.define(rule, value(target, 0));
    return syntax_.call(rule);
  }

  Expression flat_value(const Schema& schema, int depth) {
    if (!schema.is_object()) return value(schema, depth + 1);
    for (const char* const keyword : {"anyOf", "oneOf"}) {
      if (schema.contains(keyword)) return alternatives(schema, keyword, depth);
    }
    note_unsupported(schema);
    if (schema.contains("enum")) return listed(schema);
    std::vector<Expression> types;
    for (const std::string& type : types_of(schema)) types.push_back(typed(schema, type, depth));
    return syntax_.choice(types);
  }

  Expression alternatives(const Schema& schema, const std::string& keyword, int depth) {
    const Schema& list = schema[keyword];
    if (!list.is_array()) user_error("{} is not a list", keyword);
    alternatives_ += list.size();
    if (alternatives_ > kMostAlternatives) {
      user_error("{}: the schema has more than {} alternatives", keyword, kMostAlternatives);
    }
    Schema beside = schema;
    beside.erase(keyword);
    const bool alone = only_annotations_beside(beside, "");
    std::vector<Expression> parts;
    for (const Schema& one : list) {
      parts.push_back(
          alone ? value(one, depth + 1)
                : value(flattened(root_, merged(flattened(root_, one), beside)), depth + 1));
    }
    return syntax_.choice(parts);
  }

  void note_unsupported(const Schema& schema) {
    for (const auto& [key, constraint] : schema.items()) {
      const bool without_effect = (key == "uniqueItems" && constraint == false) ||
                                  (key == "minProperties" && constraint == 0) ||
                                  (key == "multipleOf" && constraint == 1);
      if (is_unsupported_keyword(key) && !without_effect) unsupported_.insert(key);
    }
  }

  static bool has_type(const Schema& value, const std::string& type) {
    if (type == "integer") {
      return value.is_number_integer() ||
             (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
    }
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null());
  }

  Expression listed(const Schema& schema) {
    const Schema& list = schema["enum"];
    if (!list.is_array()) user_error("enum is not a list");
    values_ += list.size();
    if (values_ > kMostValues)
      user_error("enum: the schema lists more than {} values", kMostValues);
    std::vector<std::string> types;
    if (schema.contains("type")) types = types_of(schema);
    std::vector<Expression> parts;
    for (const Schema& value : list) {
      const bool fits =
          types.empty() || std::any_of(types.begin(), types.end(),
                                       [&](const auto& t) { return has_type(value, t); });
      if (fits) parts.push_back(json_.exactly(value));
    }
    return syntax_.choice(parts);
  }

  /// The types that a schema names, or those for which it has keywords, or all.
  static std::vector<std::string> types_of(const Schema& schema) {
    std::vector<std::string> types;
    if (schema.contains("type")) {
      const Schema& given = schema["type"];
      for (const Schema& type : given.is_array() ? given : Schema::array({given})) {
        if (!type.is_string()) user_error("type is neither a text nor a list of texts");
        types.push_back(type);
      }
      return types;
    }
    for (const auto& [type, keywords] : type_keywords()) {
      const bool meant = std::any_of(keywords.begin(), keywords.end(),
                                     [&](const auto& key) { return schema.contains(key); });
      if (meant) types.push_back(type);
    }
    if (types.empty()) types.push_back("");
    return types;
  }

  Expression typed(const Schema& schema, const std::string& type, int depth) {
    if (type.empty()) return json_.any_value();
    if (type == "object") return object(schema, depth);
    if (type == "array") return array(schema, depth);
    if (type == "string") return string_schema(schema, json_);
    if (type == "number") return number(schema, false);
    if (type == "integer") return number(schema, true);
    if (type == "boolean") return syntax_.choice({syntax_.text("true"), syntax_.text("false")});
    if (type == "null") return syntax_.text("null");
    user_error("type {} is unknown", printable(type));
  }

  Expression number(const Schema& schema, bool integer) {
    NumberRange range;
    range.integer = integer || (schema.contains("multipleOf") && schema["multipleOf"] == 1);
    const auto bound = [&](const char* key, const char* excluding) {
      std::optional<NumberBound> found;
      if (schema.contains(key)) {
        if (!schema[key].is_number()) user_error("{} is not a number", key);
        // Draft 4 has a flag in addition to the bound.
        const bool flag = schema.contains(excluding) && schema[excluding] == true;
        found = NumberBound{parse_decimal(schema[key].dump()), flag};
      }
      if (schema.contains(excluding) && !schema[excluding].is_boolean()) {
        if (!schema[excluding].is_number()) user_error("{} is not a number", excluding);
        const bool lower = std::string_view(key) == "minimum";
        const bool tighter =
            !found || (lower ? schema[excluding] >= schema[key] : schema[excluding] <= schema[key]);
        if (tighter) found = NumberBound{parse_decimal(schema[excluding].dump()), true};
      }
      return found;
    };
    range.low = bound("minimum", "exclusiveMinimum");
    range.high = bound("maximum", "exclusiveMaximum");
    return number_expression(range, syntax_);
  }

  Expression object(const Schema& schema, int depth) {
    std::set<std::string> required;
    if (schema.contains("required")) {
      if (!schema["required"].is_array()) user_error("required is not a list");
      for (const Schema& name : schema["required"]) {
        if (!name.is_string()) user_error("required lists something that is not a text");
        required.insert(name);
      }
    }
    Expression further = syntax_.nothing();
    const bool named = schema.contains("properties") && !schema["properties"].empty();
    if (schema.contains("additionalProperties")) {
      further = value(schema["additionalProperties"], depth + 1);
    } else if (!named && !schema.contains("patternProperties")) {
      further = json_.any_value();
    }
    std::vector<JsonMember> members;
    if (named) {
      if (!schema["properties"].is_object()) user_error("properties is not an object");
      for (const auto& [name, member] : schema["properties"].items()) {
        const bool must = required.erase(name) > 0;
        members.push_back({name, value(member, depth + 1), must});
      }
    }
    if (schema.contains("patternProperties"))
      return pattern_object(schema, members, further, depth);
    for (const std::string& name : required) members.push_back({name, further, true});
    return json_.object(members, further);
  }

  /// Names by one pattern, without other names.
  Expression pattern_object(const Schema& schema, const std::vector<JsonMember>& members,
                            Expression further, int depth) {
    const Schema& patterns = schema["patternProperties"];
    if (!patterns.is_object()) user_error("patternProperties is not an object");
    if (patterns.size() != 1 || !members.empty() || further != syntax_.nothing()) {
      unsupported_.insert("patternProperties (other than one pattern alone)");
      return syntax_.nothing();
    }
    const auto only = patterns.items().begin();
    const Expression member = value(only.value(), depth + 1);
    return json_.object({}, member, json_.string_like(pattern_tree(only.key())));
  }

  Expression array(const Schema& schema, int depth) {
    std::vector<Expression> first;
    const char* rest = "items";
    const bool old_list = schema.contains("items") && schema["items"].is_array();
    if (old_list) rest = "additionalItems";  // drafts before 2020
    const char* list = old_list ? "items" : "prefixItems";
    if (schema.contains(list)) {
      if (!schema[list].is_array()) user_error("{} is not a list", list);
      if (schema[list].size() > kMostListedItems) {
        user_error("{} lists more than {} items", list, kMostListedItems);
      }
      for (const Schema& item : schema[list]) first.push_back(value(item, depth + 1));
    }
    const Expression further =
        schema.contains(rest) ? value(schema[rest], depth + 1) : json_.any_value();
    const auto [low, high] = count_limits(schema, "minItems", "maxItems");
    return json_.array(first, further, low, high);
  }

  const Schema& root_;
  Syntax& syntax_;
  JsonRules json_;
  std::map<std::string, RuleNumber> references_;
  std::set<std::string> unsupported_;
  size_t alternatives_ = 0, values_ = 0;
};

}  // namespace

Expression read_json_schema(std::string_view text, Syntax& syntax) {
  if (text.size() > kMostBytes) user_error("the schema is larger than {} bytes", kMostBytes);
  check_json_shape(text, kDeepestSchema);
  Schema schema;
  try {
    schema = Schema::parse(text);
  } catch (const nlohmann::json::exception& error) {
    user_error("the schema is not JSON: {}", one_line(error.what()));
  }
  return SchemaReader(schema, syntax).read();
}

}  // namespace longhaul::grammar
