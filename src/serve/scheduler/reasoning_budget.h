#pragma once
// Ends the reasoning of a reply when its token limit is reached.

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

  /// Returns the token that must come next, or nothing if the model may choose.
  std::optional<int32_t> forced();
  /// Adds the text of the token that was chosen.
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
