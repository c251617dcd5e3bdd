#include "grammar/constraint.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul::grammar {

Constraint::Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary)
    : vocabulary_(vocabulary), begin_(grammar, std::move(vocabulary)), state_(begin_) {}

Constraint::Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary,
                       std::vector<std::string> starts)
    : Constraint(grammar, std::move(vocabulary)) {
  starts_ = std::move(starts);
  active_ = starts_.empty();
}

void Constraint::allowed(std::span<uint64_t> mask) {
  state_.allowed(mask);
  if (std::all_of(mask.begin(), mask.end(), [](uint64_t word) { return word == 0; })) {
    user_error("the model's vocabulary has no token that the grammar allows next");
  }
}

void Constraint::accept(int32_t token, std::string_view text) {
  if (!active_) return watch(text.empty() ? vocabulary_->text(token) : text);
  const bool accepted = state_.accept(token);
  LH_ASSERT(accepted);
  if (!starts_.empty() && state_.must_end()) {
    active_ = false;
    recent_.clear();
  }
}

void Constraint::watch(std::string_view text) {
  size_t longest = 0;
  for (const std::string& start : starts_) longest = std::max(longest, start.size());
  recent_ += text;
  // The start that ends last and within the new text. The rest of the token after it is checked
  // too.
  size_t end = std::string::npos;
  for (const std::string& start : starts_) {
    const size_t found = recent_.rfind(start);
    if (found == std::string::npos || start.empty()) continue;
    if (end == std::string::npos || found + start.size() > end) end = found + start.size();
  }
  if (end != std::string::npos) {
    const std::string rest = recent_.substr(end);
    recent_.clear();
    state_ = begin_;
    active_ = state_.accept_bytes(rest);
    return;
  }
  if (recent_.size() > longest) recent_.erase(0, recent_.size() - longest);
}

}  // namespace longhaul::grammar
