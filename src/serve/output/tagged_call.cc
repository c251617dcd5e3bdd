#include <nlohmann/json.hpp>

#include "serve/output/call_reader.h"

namespace longhaul::serve {
namespace {

constexpr size_t kLongestTag = 256;
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kEndOfParameter = "</parameter>";
constexpr std::string_view kEndOfFunction = "</function>";

bool is_tag_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Qwen3-Coder's tags. A value that is a text is passed on while it arrives; its first and its last
/// newline belong to the tags.
class TaggedCallReader : public CallReader {
 public:
  TaggedCallReader(CallSink& sink, const OfferedTools& tools) : sink_(sink), tools_(tools) {}

  Result push(char c) override {
    switch (state_) {
      case State::kName:
        return read_name(c);
      case State::kBetween:
        return between(c);
      case State::kKey:
        return read_key(c);
      case State::kValue:
        return value(c);
    }
    return Result::kBroken;
  }

 private:
  enum class State : uint8_t { kName, kBetween, kKey, kValue };

  Result read_name(char c) {
    if (c == '\n' || c == '<' || name_.size() > kLongestTag) return Result::kBroken;
    if (c != '>') {
      name_ += c;
      return Result::kMore;
    }
    if (name_.empty()) return Result::kBroken;
    sink_.begin(name_);
    state_ = State::kBetween;
    return Result::kMore;
  }

  Result between(char c) {
    if (tag_.empty() && is_tag_space(c)) return Result::kMore;
    tag_ += c;
    if (tag_ == kParameter) {
      tag_.clear();
      key_.clear();
      state_ = State::kKey;
      return Result::kMore;
    }
    if (tag_ == kEndOfFunction) {
      sink_.arguments(count_ == 0 ? "{}" : "}");
      return Result::kDone;
    }
    if (kParameter.starts_with(tag_) || kEndOfFunction.starts_with(tag_)) return Result::kMore;
    return Result::kBroken;
  }

  Result read_key(char c) {
    if (c == '\n' || c == '<' || key_.size() > kLongestTag) return Result::kBroken;
    if (c != '>') {
      key_ += c;
      return Result::kMore;
    }
    sink_.arguments((count_++ == 0 ? "{" : ", ") + quoted(key_) + ": ");
    is_text_ = tools_.is_text(name_, key_);
    if (is_text_) sink_.arguments("\"");
    value_.clear();
    held_.clear();
    first_ = true;
    state_ = State::kValue;
    return Result::kMore;
  }

  static std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  Result value(char c) {
    const bool first = first_;
    first_ = false;
    if (first && c == '\n') return Result::kMore;
    held_ += c;
    // The end of the value is a newline, if there is one, and the tag.
    const auto may_be_end = [&](std::string_view held) {
      if (held.starts_with('\n')) held.remove_prefix(1);
      return kEndOfParameter.starts_with(held);
    };
    while (!held_.empty() && !may_be_end(held_)) {
      add(held_[0]);
      held_.erase(0, 1);
    }
    if (!held_.ends_with(kEndOfParameter)) return Result::kMore;
    held_.clear();
    end_value();
    state_ = State::kBetween;
    tag_.clear();
    return Result::kMore;
  }

  void add(char c) {
    value_ += c;
    if (!is_text_) return;
    // Bytes of one character are escaped together.
    const bool inside = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!inside && value_.size() > 1) pass_on(value_.size() - 1);
  }

  void pass_on(size_t bytes) {
    const std::string escaped = quoted(value_.substr(0, bytes));
    sink_.arguments(std::string_view(escaped).substr(1, escaped.size() - 2));
    value_.erase(0, bytes);
  }

  void end_value() {
    if (is_text_) {
      pass_on(value_.size());
      sink_.arguments("\"");
      return;
    }
    sink_.arguments(nlohmann::json::accept(value_) ? value_ : quoted(value_));
  }

  CallSink& sink_;
  const OfferedTools& tools_;
  State state_ = State::kName;
  std::string name_, key_, tag_, value_, held_;
  bool is_text_ = true, first_ = true;
  int count_ = 0;
};

}  // namespace

std::unique_ptr<CallReader> tagged_call_reader(CallSink& sink, const OfferedTools& tools) {
  return std::make_unique<TaggedCallReader>(sink, tools);
}

}  // namespace longhaul::serve
