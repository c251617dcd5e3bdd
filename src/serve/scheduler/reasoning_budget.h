#pragma once
// Ends the reasoning of a reply when its number of tokens reaches ReasoningLimit::tokens. The
// tokens of ReasoningLimit::close are then forced.

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

  /// Returns the next token if it is forced, or nothing if the token is to be sampled.
  std::optional<int32_t> forced();
  /// Receives the text of the token that was sampled or forced.
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
