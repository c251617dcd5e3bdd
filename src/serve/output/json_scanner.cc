#include "serve/output/json_scanner.h"

#include <string_view>

namespace longhaul::serve {
namespace {

constexpr size_t kDeepestValue = 1000;

bool json_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool scalar_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '+' || c == '.';
}

}  // namespace

JsonScanner::Result JsonScanner::push(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      if (open_.empty()) return Result::kDone;
    }
    return Result::kMore;
  }
  if (scalar_) {
    if (scalar_byte(c)) return Result::kMore;
    return Result::kBefore;
  }
  if (json_blank(c)) return Result::kMore;
  if (c == '"') {
    begun_ = in_string_ = true;
    return Result::kMore;
  }
  if (c == '{' || c == '[') {
    begun_ = true;
    open_ += c;
    return open_.size() > kDeepestValue ? Result::kBroken : Result::kMore;
  }
  if (c == '}' || c == ']') {
    if (open_.empty() || open_.back() != (c == '}' ? '{' : '[')) return Result::kBroken;
    open_.pop_back();
    return open_.empty() ? Result::kDone : Result::kMore;
  }
  if (open_.empty()) {
    if (!scalar_byte(c)) return Result::kBroken;
    scalar_ = true;
    return Result::kMore;
  }
  return scalar_byte(c) || c == ',' || c == ':' ? Result::kMore : Result::kBroken;
}

}  // namespace longhaul::serve
