#include "serve/api/json_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "serve/api/api_error.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul::serve {
namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kMostNumbers = 4'000'000;  // a prompt as token ids
constexpr size_t kMostOthers = 400'000;
constexpr size_t kMostKeys = 4096;  // an object's keys are searched one after the other

/// Builds values from the parser's events.
class BodyBuilder {
 public:
  explicit BodyBuilder(std::span<const std::string_view> known) : known_(known) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(Json::number_integer_t value) { return add(Json(value), true); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(Json(value), true); }
  bool number_float(Json::number_float_t value, const std::string&) {
    if (!std::isfinite(value)) refuse("a number is too large");
    return add(Json(value), true);
  }
  bool string(std::string& value) {
    if (skipped_ == 0 && value.find('\0') != std::string::npos) refuse("a text holds NUL");
    return add(skipped_ > 0 ? Json() : Json(std::move(value)));
  }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (skipped_ > 0) return true;
    if (name.find('\0') != std::string::npos) refuse("a name holds NUL");
    if (stack_.back()->size() >= kMostKeys) refuse("an object has too many names");
    keys_.back() = name;
    skips_next_ =
        stack_.size() == 1 && std::find(known_.begin(), known_.end(), name) == known_.end();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) {
      refuse("a number is too large");
    }
    throw ApiError(400, "invalid_request_error", "invalid_json",
                   fmt::format("the body is no JSON: byte {}{}", position, where()), path());
  }

  Json take() { return std::move(root_); }

 private:
  std::string path() const {
    std::string text;
    for (size_t i = 0; i < stack_.size(); ++i) {
      if (stack_[i]->is_array()) {
        text += fmt::format("[{}]", stack_[i]->size());
      } else if (!keys_[i].empty()) {
        text += (text.empty() ? "" : ".") + one_line(keys_[i].substr(0, 64));
      }
    }
    return text;
  }
  std::string where() const { return path().empty() ? "" : " in " + path(); }

  [[noreturn]] void refuse(const char* problem) const {
    throw ApiError(400, "invalid_request_error", "invalid_value", problem + where(), path());
  }

  bool count(bool number) {
    size_t& counted = number ? numbers_ : others_;
    if (++counted > (number ? kMostNumbers : kMostOthers)) refuse("the body has too many values");
    return true;
  }

  bool add(Json value, bool number = false) {
    if (skipped_ > 0) return true;
    if (std::exchange(skips_next_, false)) return true;
    count(number);
    place(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (stack_.size() + skipped_ >= kDeepest) refuse("the body nests deeper than 64");
    if (skipped_ > 0 || std::exchange(skips_next_, false)) {
      ++skipped_;
      return true;
    }
    count(false);
    stack_.push_back(place(std::move(value)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  Json* place(Json value) {
    if (stack_.empty()) {
      if (!value.is_object()) {
        throw ApiError(400, "invalid_request_error", "invalid_json", "the body is no JSON object");
      }
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& member = parent[keys_.back()];
    member = std::move(value);
    return &member;
  }

  std::span<const std::string_view> known_;
  Json root_;
  std::vector<Json*> stack_;  ///< open values; a parent does not change while a child is open
  std::vector<std::string> keys_;
  bool skips_next_ = false;
  size_t skipped_ = 0;  ///< depth within a member that is left out
  size_t numbers_ = 0, others_ = 0;
};

/// A pointer with a type of its own, so that the parser is compiled in this file alone, with the
/// optimisation of this file (cmake/Serve.cmake).
struct BodyByte {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  reference operator*() const { return *at; }
  BodyByte& operator++() {
    ++at;
    return *this;
  }
  BodyByte operator++(int) { return {at++}; }
  bool operator==(const BodyByte&) const = default;

  const char* at = nullptr;
};

std::string library_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_valid(const std::string& text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; }))
    return true;
  std::string storage;
  size_t replaced = 0;
  repair_utf8(text, storage, &replaced);
  return replaced == 0;
}

void write_string(const std::string& text, std::string& out) {
  if (!is_valid(text)) {
    out += library_text(text);
    return;
  }
  out += '"';
  size_t plain = 0;  // begin of the bytes that need no escape
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    constexpr std::string_view kShort = "\b\t\n\f\r\"\\", kLetters = "btnfr\"\\";
    if (const size_t place = kShort.find(text[i]); place != std::string_view::npos) {
      (out += '\\') += kLetters[place];
    } else {
      out += fmt::format("\\u{:04x}", byte);
    }
  }
  out.append(text, plain);
  out += '"';
}

void write_json(const Json& json, std::string& out) {
  switch (json.type()) {
    case Json::value_t::object: {
      out += '{';
      bool first = true;
      for (const auto& [name, value] : json.get_ref<const Json::object_t&>()) {
        if (!std::exchange(first, false)) out += ',';
        write_string(name, out);
        out += ':';
        write_json(value, out);
      }
      out += '}';
      return;
    }
    case Json::value_t::array: {
      out += '[';
      bool first = true;
      for (const Json& value : json.get_ref<const Json::array_t&>()) {
        if (!std::exchange(first, false)) out += ',';
        write_json(value, out);
      }
      out += ']';
      return;
    }
    case Json::value_t::string:
      return write_string(json.get_ref<const std::string&>(), out);
    case Json::value_t::boolean:
      out += json.get<bool>() ? "true" : "false";
      return;
    case Json::value_t::null:
      out += "null";
      return;
    case Json::value_t::number_integer:
      out += std::to_string(json.get<int64_t>());
      return;
    case Json::value_t::number_unsigned:
      out += std::to_string(json.get<uint64_t>());
      return;
    default:
      out += library_text(json);
  }
}

}  // namespace

std::string text_of(const Json& json) {
  std::string text;
  write_json(json, text);
  return text;
}

std::string spaced_text_of(const Json& json) {
  if (!json.is_structured()) return text_of(json);
  std::string text(1, json.is_object() ? '{' : '[');
  for (const auto& [name, value] : json.items()) {
    if (text.size() > 1) text += ", ";
    if (json.is_object()) text += text_of(name) + ": ";
    text += spaced_text_of(value);
  }
  return text + (json.is_object() ? '}' : ']');
}

Json read_body(std::string_view body, std::span<const std::string_view> known) {
  BodyBuilder builder(known);
  if (!Json::sax_parse(BodyByte{body.data()}, BodyByte{body.data() + body.size()}, &builder)) {
    throw ApiError(400, "invalid_request_error", "invalid_json", "the body is no JSON");
  }
  return builder.take();
}

}  // namespace longhaul::serve
