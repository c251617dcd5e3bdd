#include "grammar/schema_merge.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "grammar/regex_escapes.h"
#include "text/printable.h"

namespace longhaul::grammar {
namespace {

constexpr int kDeepestReferences = 50;
constexpr size_t kMostMerged = 100'000;  // values of a merged schema

using Strings = std::vector<std::string>;

bool holds(const Schema& list, const Schema& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Schema list_of(const Schema& value) { return value.is_array() ? value : Schema::array({value}); }

Schema common_types(const Schema& a, const Schema& b) {
  Schema both = Schema::array();
  const Schema first = list_of(a), second = list_of(b);
  for (const Schema& type : first) {
    if (holds(second, type) || (type == "integer" && holds(second, "number"))) both.push_back(type);
    if (type == "number" && holds(second, "integer")) both.push_back("integer");
  }
  return both;
}

Schema both_of(const Schema& a, const Schema& b) {
  if (a == b || b == true) return a;
  if (a == true) return b;
  return Schema{{"allOf", Schema::array({a, b})}};
}

/// Members that one side names must suit the other side's rule for further members.
void merge_members(Schema& out, const Schema& b) {
  const Schema none = Schema::object();
  const Schema a = out;
  const Schema& members_a = a.contains("properties") ? a["properties"] : none;
  const Schema& members_b = b.contains("properties") ? b["properties"] : none;
  Schema members = Schema::object();
  const auto beside = [](const Schema& value, const Schema& other) -> Schema {
    if (!other.contains("additionalProperties")) return value;
    return both_of(value, other["additionalProperties"]);
  };
  if (!members_a.is_object() || !members_b.is_object()) user_error("properties is not an object");
  for (const auto& [name, value] : members_a.items()) {
    members[name] = members_b.contains(name) ? both_of(value, members_b[name]) : beside(value, b);
  }
  for (const auto& [name, value] : members_b.items()) {
    if (!members_a.contains(name)) members[name] = beside(value, a);
  }
  if (!members.empty()) out["properties"] = std::move(members);
  if (!b.contains("additionalProperties")) return;
  const Schema& further = b["additionalProperties"];
  out["additionalProperties"] = out.contains("additionalProperties")
                                    ? both_of(out["additionalProperties"], further)
                                    : further;
}

/// The schema of an element: the place's own, or `items` after the last place of prefixItems.
Schema element_of(const Schema& schema, size_t place) {
  if (schema.contains("prefixItems") && place < schema["prefixItems"].size()) {
    return schema["prefixItems"][place];
  }
  return schema.contains("items") ? schema["items"] : Schema(true);
}

/// `items` of one side also applies to elements that prefixItems of the other side describes.
void merge_elements(Schema& out, const Schema& b) {
  const Schema a = out;
  size_t places = 0;
  for (const Schema* side : {&a, &b}) {
    const Schema& other = side == &a ? b : a;
    const bool by_place = side->contains("items") && (*side)["items"].is_array();  // older drafts
    const bool equal = by_place && other.contains("items") && (*side)["items"] == other["items"];
    if (by_place && !equal && (other.contains("items") || other.contains("prefixItems"))) {
      user_error("items stands in several schemas that apply together");
    }
    if (!side->contains("prefixItems")) continue;
    if (!(*side)["prefixItems"].is_array()) user_error("prefixItems is not a list");
    places = std::max(places, (*side)["prefixItems"].size());
  }
  if (places > 0) out["prefixItems"] = Schema::array();
  for (size_t i = 0; i < places; ++i) {
    out["prefixItems"].push_back(both_of(element_of(a, i), element_of(b, i)));
  }
  if (a.contains("items") && b.contains("items")) {
    out["items"] = both_of(a["items"], b["items"]);
  } else if (b.contains("items")) {
    out["items"] = b["items"];
  }
}

Schema merged_keyword(const std::string& key, const Schema& a, const Schema& b) {
  if (a == b) return a;
  if (key == "type") return common_types(a, b);
  if (key == "required") {
    Schema both = list_of(a);
    for (const Schema& name : list_of(b)) {
      if (!holds(both, name)) both.push_back(name);
    }
    return both;
  }
  if (key == "enum") {
    Schema both = Schema::array();
    const Schema second = list_of(b);
    for (const Schema& value : list_of(a)) {
      if (holds(second, value)) both.push_back(value);
    }
    return both;
  }
  if (key.starts_with("min") || key == "exclusiveMinimum") return std::max(a, b);
  if (key.starts_with("max") || key == "exclusiveMaximum") return std::min(a, b);
  if (key == "format" || is_annotation(key)) return a;
  user_error("{} stands in several schemas that apply together", printable(key));
}

size_t values_of(const Schema& schema) {
  size_t values = 1;
  for (const Schema& part : schema) {
    if (values > kMostMerged) break;
    values += part.is_structured() ? values_of(part) : 1;
  }
  return values;
}

class Flattener {
 public:
  explicit Flattener(const Schema& root) : root_(root) {}

  Schema flat(const Schema& schema, int depth) {
    if (depth > kDeepestReferences) {
      user_error("$ref and allOf lead in a circle, or more than {} times further",
                 kDeepestReferences);
    }
    if (!schema.is_object()) return schema;
    Schema own = schema;
    own.erase("$ref");
    own.erase("allOf");
    if (own.contains("const")) {  // an enum of one value
      const Schema one = Schema::array({own["const"]});
      own.erase("const");
      own["enum"] = own.contains("enum") ? merged_keyword("enum", own["enum"], one) : one;
    }
    if (schema.contains("$ref")) {
      if (!schema["$ref"].is_string()) user_error("$ref is not a text");
      own = merged(flat(referred_schema(root_, schema["$ref"]), depth + 1), own);
    }
    if (schema.contains("allOf")) {
      if (!schema["allOf"].is_array()) user_error("allOf is not a list");
      for (const Schema& part : schema["allOf"]) own = merged(own, flat(part, depth + 1));
    }
    return own;
  }

 private:
  const Schema& root_;
};

}  // namespace

bool is_annotation(std::string_view keyword) {
  constexpr std::array<std::string_view, 17> kAnnotations = {
      "title", "description", "default",  "examples",         "example",        "$schema",
      "$id",   "id",          "$comment", "deprecated",       "readOnly",       "writeOnly",
      "$defs", "definitions", "$anchor",  "contentMediaType", "contentEncoding"};
  return std::find(kAnnotations.begin(), kAnnotations.end(), keyword) != kAnnotations.end() ||
         keyword.starts_with("x-");
}

const Schema& referred_schema(const Schema& root, const std::string& reference) {
  if (!reference.starts_with('#')) {
    user_error("$ref {} leads outside of the schema, and nothing is fetched", printable(reference));
  }
  const Schema* at = &root;
  for (size_t begin = 1; begin < reference.size();) {
    if (reference[begin] != '/') {
      user_error("$ref {}: only paths such as #/$defs/NAME are supported", printable(reference));
    }
    const size_t end = std::min(reference.find('/', begin + 1), reference.size());
    std::string key;
    for (size_t i = begin + 1; i < end; ++i) {
      const std::string_view left = std::string_view(reference).substr(i);
      if (left.starts_with("~0") || left.starts_with("~1")) {
        key += left[1] == '0' ? '~' : '/';
        ++i;
      } else if (left.starts_with('%') && left.size() >= 3) {
        size_t digits = i + 1;
        key += static_cast<char>(read_hex(reference, digits, 2));
        i += 2;
      } else {
        key += left[0];
      }
    }
    const Schema* next = nullptr;
    if (at->is_object() && at->contains(key)) {
      next = &(*at)[key];
    } else if (at->is_array() && !key.empty() && key.size() < 9 &&
               key.find_first_not_of("0123456789") == std::string::npos) {
      const size_t index = static_cast<size_t>(std::stoul(key));
      if (index < at->size()) next = &(*at)[index];
    }
    if (next == nullptr) user_error("$ref {} leads to nothing", printable(reference));
    at = next;
    begin = end;
  }
  return *at;
}

Schema merged(const Schema& a, const Schema& b) {
  if (a == false || b == false) return false;
  if (a == true) return b;
  if (b == true) return a;
  if (!a.is_object() || !b.is_object())
    user_error("a schema is neither an object nor true or false");
  Schema out = a;
  merge_members(out, b);
  merge_elements(out, b);
  for (const auto& [key, value] : b.items()) {
    if (key == "properties" || key == "additionalProperties") continue;
    if (key == "items" || key == "prefixItems") continue;
    if (!out.contains(key)) {
      out[key] = value;
    } else {
      out[key] = merged_keyword(key, out[key], value);
    }
  }
  if (values_of(out) > kMostMerged) user_error("schemas that apply together are too large");
  return out;
}

Schema flattened(const Schema& root, const Schema& schema) {
  return Flattener(root).flat(schema, 0);
}

}  // namespace longhaul::grammar
