#pragma once
// ReplyMaker samples the tokens of one reply from logits, and converts them to text. The returned
// text consists of complete characters and contains no text that may become part of a stop string.

#include <deque>
#include <exception>
#include <optional>
#include <span>

#include "engine/loop_detector.h"
#include "engine/stop_matcher.h"
#include "ops/core/best_logits.h"
#include "serve/scheduler/job.h"
#include "serve/scheduler/reasoning_budget.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

namespace longhaul::serve {

class ReplyMaker {
 public:
  ReplyMaker(const Tokenizer& tokenizer, const ReplyOptions& options);

  /// Samples the next token from logits [vocab]. `history` has all tokens of the sequence so far.
  /// If the reply ends with this token, ReplyPiece::finish of the result is set. Throws UserError
  /// if no logit is finite.
  ReplyPiece take(std::span<const float> logits, std::span<const int32_t> history);
  /// Takes the token of the highest logit after biases() and mask(), if takes_highest(). Throws
  /// UserError if the grammar allows no token.
  ReplyPiece take(const BestLogit& highest);
  /// Returns whether every token of the reply is the one with the highest logit (greedy sampling),
  /// so that the engine need not return all logits.
  bool takes_highest() const;
  /// Returns the tokens whose logits must be changed before the highest is chosen, and the number
  /// to add to each.
  std::span<const LogitBias> biases() const { return biases_; }
  /// Returns the memory of the mask of allowed tokens, which write_mask() fills. Empty: all tokens
  /// are allowed. The memory is valid until the next token.
  std::span<const uint64_t> mask();
  /// Any thread may call it while no other function of this object runs.
  void write_mask();
  /// Ends the reply for a reason of the caller.
  ReplyPiece end(Finish reason);

  /// Returns all tokens that have been sampled so far.
  std::span<const int32_t> tokens() const { return tokens_; }
  int32_t last_token() const { return last_; }  ///< returns the token that must be decoded next
  int64_t made() const { return made_; }

 private:
  ReplyPiece add(int32_t token, std::span<const float> logits);
  std::span<const float> biased(std::span<const float> logits);
  std::span<const uint64_t> allowed();
  void constrain_after(int32_t token);
  void hold(int32_t token, std::span<const float> logits);
  void release(ReplyPiece& piece, bool all);
  void push_text(const std::string& text, ReplyPiece& piece);
  void end_at_stop_string(ReplyPiece& piece);

  struct Held {
    TokenReport report;
    size_t begin;  ///< offset of the token's text in the reply
  };

  Tokenizer tokenizer_;
  ReplyOptions options_;
  Sampler sampler_;
  Detokenizer detokenizer_;
  StopMatcher stops_;
  LoopDetector loop_;
  ReasoningBudget reasoning_;
  /// Number of occurrences of each token in the reply, for the penalties.
  std::map<int32_t, int> counts_;
  /// Biases of the request, and -infinity for forbidden end tokens.
  std::vector<LogitBias> biases_;
  std::deque<Held> held_;  ///< tokens whose text has not been returned yet
  size_t made_text_ = 0, shown_text_ = 0;
  int64_t made_ = 0;
  std::vector<int32_t> tokens_;
  int32_t last_ = 0;
  grammar::TokenMask mask_;
  std::exception_ptr no_mask_;  ///< why write_mask() failed
};

/// Returns the logprob of `token`, and the `count` most likely tokens with their logprobs.
TokenReport report_token(std::span<const float> logits, int32_t token, int count);

}  // namespace longhaul::serve
