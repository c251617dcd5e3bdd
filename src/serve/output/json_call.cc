#include <nlohmann/json.hpp>

#include "serve/output/call_reader.h"

namespace longhaul::serve {
namespace {

constexpr size_t kLongestName = 256;

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string text_of_json(const std::string& quoted) {
  const auto value = nlohmann::json::parse(quoted, nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

class ArgumentsReader : public CallReader {
 public:
  explicit ArgumentsReader(CallSink& sink) : sink_(sink) {}

  Result push(char c) override {
    if (!begun_ && c != '{' && !is_json_space(c)) return Result::kBroken;
    begun_ |= c == '{';
    const auto result = scanner_.push(c);
    if (result == JsonScanner::Result::kBroken) return Result::kBroken;
    if (begun_) sink_.arguments({&c, 1});
    return result == JsonScanner::Result::kDone ? Result::kDone : Result::kMore;
  }

 private:
  CallSink& sink_;
  JsonScanner scanner_;
  bool begun_ = false;
};

class JsonCallReader : public CallReader {
 public:
  JsonCallReader(CallSink& sink, const OfferedTools* known) : sink_(sink), known_(known) {}

  Result push(char c) override {
    switch (state_) {
      case State::kObject:
        if (is_json_space(c)) return Result::kMore;
        if (c != '{') return Result::kBroken;
        ++depth_;
        state_ = State::kKey;
        return Result::kMore;
      case State::kKey:
        if (is_json_space(c)) return Result::kMore;
        if (c != '"') return Result::kBroken;
        text_ = c;
        state_ = State::kInKey;
        return Result::kMore;
      case State::kInKey:
        return in_key(c);
      case State::kColon:
        if (is_json_space(c)) return Result::kMore;
        if (c != ':') return Result::kBroken;
        return begin_value();
      case State::kValue:
        return value(c);
      case State::kAfterValue:
        return after_value(c);
    }
    return Result::kBroken;
  }

 private:
  enum class State : uint8_t { kObject, kKey, kInKey, kColon, kValue, kAfterValue };

  Result in_key(char c) {
    text_ += c;
    const bool escaped = backslash_;
    backslash_ = c == '\\' && !escaped;
    if (text_.size() > kLongestName) return Result::kBroken;
    if (c != '"' || escaped) return Result::kMore;
    key_ = text_of_json(text_);
    const bool expected = key_ == "name" || key_ == "id" || key_ == "type" || is_arguments() ||
                          (key_ == "function" && depth_ == 1);
    // An object with other members is not a call, unless a mark precedes it.
    if (!expected && known_ != nullptr) return Result::kBroken;
    state_ = State::kColon;
    return Result::kMore;
  }

  bool is_arguments() const {
    return key_ == "arguments" || key_ == "parameters" || key_ == "input";
  }

  Result begin_value() {
    text_.clear();
    scanner_ = {};
    if (key_ == "function" && depth_ == 1) {
      state_ = State::kObject;
      return Result::kMore;
    }
    state_ = State::kValue;
    return Result::kMore;
  }

  Result value(char c) {
    const bool blank = text_.empty() && is_json_space(c);
    const auto result = scanner_.push(c);
    if (result == JsonScanner::Result::kBroken) return Result::kBroken;
    if (result != JsonScanner::Result::kBefore && !blank) add(c);
    if (result == JsonScanner::Result::kMore) return Result::kMore;
    const Result ended = end_value();
    if (ended != Result::kMore) return ended;
    state_ = State::kAfterValue;
    return result == JsonScanner::Result::kBefore ? after_value(c) : Result::kMore;
  }

  /// An object of arguments is passed on at once. Any other value is passed on at its end.
  void add(char c) {
    text_ += c;
    if (!is_arguments() || text_[0] != '{') return;
    if (named_) {
      sink_.arguments({&c, 1});
    } else {
      early_ += c;
    }
    text_.resize(1);
    has_arguments_ = true;
  }

  Result end_value() {
    if (key_ == "name") {
      const std::string name = text_of_json(text_);
      const bool is_call = !name.empty() && (known_ == nullptr || known_->has(name));
      if (!is_call || named_) return Result::kBroken;
      named_ = true;
      sink_.begin(name);
      if (!early_.empty()) sink_.arguments(early_);
    } else if (key_ == "id") {
      if (!named_) sink_.id(text_of_json(text_));
    } else if (is_arguments() && text_[0] != '{') {
      // A text that contains JSON.
      const std::string inner = text_[0] == '"' ? text_of_json(text_) : text_;
      has_arguments_ = true;
      if (named_) {
        sink_.arguments(inner);
      } else {
        early_ += inner;
      }
    }
    return Result::kMore;
  }

  Result after_value(char c) {
    if (is_json_space(c)) return Result::kMore;
    if (c == ',') {
      state_ = State::kKey;
      return Result::kMore;
    }
    if (c != '}') return Result::kBroken;
    if (--depth_ > 0) return Result::kMore;
    if (!named_) return Result::kBroken;
    if (!has_arguments_) sink_.arguments("{}");
    return Result::kDone;
  }

  CallSink& sink_;
  const OfferedTools* known_;
  State state_ = State::kObject;
  JsonScanner scanner_;
  std::string key_, text_, early_;
  int depth_ = 0;
  bool backslash_ = false, named_ = false, has_arguments_ = false;
};

/// Mistral's newer form.
class NamedCallReader : public CallReader {
 public:
  explicit NamedCallReader(CallSink& sink) : sink_(sink), arguments_(sink) {}

  Result push(char c) override {
    if (in_arguments_) return arguments_.push(c);
    if (head_.size() > kLongestName || c == '\n') return Result::kBroken;
    head_ += c;
    if (c == '{') {
      head_.pop_back();
      return begin(c);
    }
    if (head_.ends_with("[ARGS]")) {
      head_.resize(head_.size() - 6);
      return begin('\0');
    }
    return Result::kMore;
  }

 private:
  Result begin(char c) {
    const size_t mark = head_.find("[CALL_ID]");
    if (mark != std::string::npos) sink_.id(head_.substr(mark + 9));
    std::string name = head_.substr(0, mark);
    while (!name.empty() && is_json_space(name.back())) name.pop_back();
    if (name.empty()) return Result::kBroken;
    sink_.begin(name);
    in_arguments_ = true;
    return c == '\0' ? Result::kMore : arguments_.push(c);
  }

  CallSink& sink_;
  ArgumentsReader arguments_;
  std::string head_;
  bool in_arguments_ = false;
};

}  // namespace

std::unique_ptr<CallReader> json_call_reader(CallSink& sink, const OfferedTools* known) {
  return std::make_unique<JsonCallReader>(sink, known);
}
std::unique_ptr<CallReader> named_call_reader(CallSink& sink) {
  return std::make_unique<NamedCallReader>(sink);
}
std::unique_ptr<CallReader> arguments_reader(CallSink& sink) {
  return std::make_unique<ArgumentsReader>(sink);
}

}  // namespace longhaul::serve
