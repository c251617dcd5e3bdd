#pragma once
// Ends a reply's reasoning when its budget of tokens is used up.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "serve/scheduler/job.h"
#include "tokenizer/tokenizer.h"

namespace longhaul::serve {

class ReasoningBudget {
 public:
  ReasoningBudget(const Tokenizer& tokenizer, const ReasoningLimit& limit);

  /// The token that has to come next; none if the model chooses.
  std::optional<int32_t> forced();
  /// The text that a token has added to the reply.
  void push(std::string_view text);

 private:
  enum class State : uint8_t { kBefore, kInside, kClosing, kAfter };

  void close();

  const Tokenizer& tokenizer_;
  const ReasoningLimit& limit_;
  State state_ = State::kAfter;
  std::string recent_;
  int64_t used_ = 0;
  std::deque<int32_t> closing_;
};

}  // namespace longhaul::serve
