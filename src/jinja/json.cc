#include "jinja/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text/utf8.h"

namespace longhaul::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {
    const char* const usual = style.indent ? "," : ", ";
    comma_ = style.item_separator.value_or(String(usual, Origin::kTemplate));
    colon_ = style.key_separator.value_or(String(": ", Origin::kTemplate));
  }

  void write(const Value& value) {
    budget_.spend();
    switch (value.kind()) {
      case Kind::none:
        return own("null");
      case Kind::boolean:
        return own(value.boolean() ? "true" : "false");
      case Kind::integer:
        return own(std::to_string(*value.integer()));
      case Kind::real:
        return own(number(value.real()));
      case Kind::string:
        return quoted(value.string());
      case Kind::list:
        if (value.list().kind != ListKind::generator) return list(value.list());
        break;
      case Kind::dict:
        return dict(value.dict());
      default:
        break;
    }
    fault("Object of type {} is not JSON serializable", value.type());
  }

  String take() { return std::move(out_); }

 private:
  void own(std::string_view text) { out_.append(text, Origin::kTemplate); }

  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_text(value);
  }

  static std::string escape(uint32_t unit) { return fmt::format("\\u{:04x}", unit); }

  /// The escape sequence of a character; empty if it is written as it is.
  std::string escaped(uint32_t c) const {
    constexpr std::string_view kMeanings = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
    const size_t known = c < 0x80 ? kMeanings.find(static_cast<char>(c)) : kMeanings.npos;
    if (known != std::string_view::npos) return {'\\', kNames[known]};
    if (c < 0x20) return escape(c);
    if (!style_.ascii || c < 0x7F) return {};
    if (c < 0x10000) return escape(c);
    return escape(0xD800 + ((c - 0x10000) >> 10)) + escape(0xDC00 + ((c - 0x10000) & 0x3FF));
  }

  void quoted(const String& text) {
    budget_.spend(text.weight());
    own("\"");
    size_t plain = 0;
    for (size_t at = 0; at < text.size();) {
      const Utf8Sequence next = read_utf8(text.bytes().substr(at));
      const std::string instead =
          next.status == Utf8Status::complete ? escaped(next.code_point) : "";
      if (!instead.empty()) {
        out_.append(text, plain, at);
        out_.append(instead, text.origin_at(at));
        plain = at + next.bytes;
      }
      at += next.bytes;
    }
    out_.append(text, plain, text.size());
    own("\"");
    budget_.check_length(out_.size());
  }

  void break_line() {
    if (!style_.indent) return;
    own("\n");
    for (int i = 0; i < level_; ++i) out_.append(*style_.indent);
    budget_.spend(style_.indent->size() * static_cast<size_t>(level_));
    budget_.check_length(out_.size());
  }

  template <class Items, class Each>
  void between(std::string_view open, const Items& items, std::string_view close,
               const Each& each) {
    own(open);
    ++level_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_.append(comma_);
      first = false;
      break_line();
      each(item);
    }
    --level_;
    if (!first) break_line();
    own(close);
  }

  void list(const List& list) {
    between("[", list.items, "]", [this](const Value& item) { write(item); });
  }

  void key(const Value& key) {
    if (key.is(Kind::string)) return quoted(key.string());
    const bool simple = key.is_number() || key.is(Kind::none);
    if (!simple) fault("keys must be str, int, float, bool or None, not {}", key.type());
    own("\"");
    write(key);
    own("\"");
  }

  void dict(const Dict& dict) {
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : dict.items) items.push_back(&item);
    if (style_.sorted) {
      std::stable_sort(items.begin(), items.end(), [this](const auto* a, const auto* b) {
        return less(a->first, b->first, budget_);
      });
    }
    between("{", items, "}", [this](const auto* item) {
      key(item->first);
      out_.append(colon_);
      write(item->second);
    });
  }

  const JsonStyle& style_;
  Budget& budget_;
  String comma_, colon_, out_;
  int level_ = 0;
};

}  // namespace

Value from_json(const nlohmann::ordered_json& json, Origin origin) {
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return Value(json.get<bool>());
    case Type::number_integer:
      return Value(json.get<int64_t>());
    case Type::number_unsigned:
      if (json.get<uint64_t>() > INT64_MAX) return Value(json.get<double>());
      return Value(json.get<int64_t>());
    case Type::number_float:
      return Value(json.get<double>());
    case Type::string:
      return Value::text(json.get_ref<const std::string&>(), origin);
    case Type::array: {
      Values items;
      for (const auto& item : json) items.push_back(from_json(item, origin));
      return Value::list(std::move(items));
    }
    case Type::object: {
      Pairs items;
      for (const auto& [key, item] : json.items()) {
        items.emplace_back(Value::text(key, origin), from_json(item, origin));
      }
      return Value::dict(std::move(items));
    }
    default:
      return Value::none();
  }
}

String to_json(const Value& value, const JsonStyle& style, Budget& budget) {
  JsonWriter writer(style, budget);
  writer.write(value);
  return writer.take();
}

}  // namespace longhaul::jinja
