#include "serve/scheduler/reasoning_budget.h"

namespace longhaul::serve {

ReasoningBudget::ReasoningBudget(const Tokenizer& tokenizer, const ReasoningLimit& limit)
    : tokenizer_(tokenizer), limit_(limit) {
  if (limit.tokens < 0 || limit.close.empty()) return;
  state_ = limit.begun ? State::kInside : State::kBefore;
  if (limit.begun && limit.tokens == 0) close();
}

void ReasoningBudget::close() {
  const auto tokens =
      tokenizer_.encode(limit_.close, {.add_special = false, .parse_special = true});
  closing_.assign(tokens.begin(), tokens.end());
  state_ = State::kClosing;
}

std::optional<int32_t> ReasoningBudget::forced() {
  if (state_ != State::kClosing) return {};
  const int32_t token = closing_.front();
  closing_.pop_front();
  if (closing_.empty()) state_ = State::kAfter;
  return token;
}

void ReasoningBudget::push(std::string_view text) {
  if (state_ == State::kAfter || state_ == State::kClosing) return;
  recent_ += text;
  if (state_ == State::kBefore) {
    const size_t begin = recent_.find_first_not_of(" \n");
    if (begin == std::string::npos) return;
    const std::string_view seen = std::string_view(recent_).substr(begin);
    if (seen.starts_with(limit_.open)) {
      state_ = State::kInside;
      recent_.erase(0, begin + limit_.open.size());
    } else if (!limit_.open.starts_with(seen)) {
      state_ = State::kAfter;
    }
    return;
  }
  if (recent_.find(limit_.end) != std::string::npos) {
    state_ = State::kAfter;
    return;
  }
  if (recent_.size() > limit_.end.size()) recent_.erase(0, recent_.size() - limit_.end.size());
  if (++used_ >= limit_.tokens) close();
}

}  // namespace longhaul::serve
