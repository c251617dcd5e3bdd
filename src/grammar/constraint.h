#pragma once
// A grammar in use: the whole reply matches it, or only what follows a text such as the mark of a
// tool call.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace longhaul::grammar {

/// Copies are independent of each other.
class Constraint {
 public:
  /// The reply matches from its beginning.
  Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary);
  /// The reply is free until one of the texts `starts` has appeared; what follows that text
  /// matches. After a match the reply is free again. A start may be a control token's text.
  Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary,
             std::vector<std::string> starts);

  /// Whether the next token is restricted.
  bool active() const { return active_; }
  /// Writes the tokens that may come next; the mask has mask_words() words. Call it if active().
  /// UserError if the vocabulary has no token that may come next.
  void allowed(std::span<uint64_t> mask);
  size_t mask_words() const { return vocabulary_->mask_words(); }
  /// Appends the sampled token. `text` is the text of a control token, otherwise empty.
  void accept(int32_t token, std::string_view text = {});
  /// Whether the reply is complete and nothing can follow.
  bool must_end() const { return starts_.empty() && state_.must_end(); }

 private:
  void watch(std::string_view text);

  std::shared_ptr<const TokenTrie> vocabulary_;
  GrammarState begin_, state_;
  std::vector<std::string> starts_;
  std::string recent_;  // the end of the free text, as long as the longest start
  bool active_ = true;
};

}  // namespace longhaul::grammar
