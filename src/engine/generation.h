#pragma once
// Generation samples the tokens of one reply and collects its text. The caller runs the model: it
// calls input(), decodes the returned token, and passes the resulting logits to take(). Several
// generations can therefore be in progress at the same time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "engine/sampler.h"
#include "engine/sequence.h"
#include "grammar/constraint.h"

namespace longhaul {

enum class StopReason : uint8_t {
  kEndOfReply,  ///< the model sampled a token that ends replies
  kStopString,
  kMaxTokens,
  kContextFull,  ///< SessionOptions::context was reached
  kCancelled,
  kLoop,  ///< the reply repeats the same tokens without end (GenerateOptions::stop_loops)
};
std::string_view name_of(StopReason reason);  ///< returns "end_of_reply", "stop_string", ...

struct GenerateOptions {
  SamplerOptions sampler;
  int64_t max_tokens = -1;        ///< largest number of tokens of the reply; negative: no limit
  std::vector<std::string> stop;  ///< strings that end the reply; the reply does not include them
  /// Whether a leading blank is removed (DetokenizerOptions::starts_text).
  bool starts_text = true;
  /// Whether a reply at temperature 0 ends when it repeats the same tokens (loop_detector.h).
  bool stop_loops = false;
  const CancelFlag* cancel = nullptr;
  std::optional<grammar::Constraint> constraint;  ///< grammar that the whole reply must match
};

struct Reply {
  std::string text;  ///< text of the reply, in valid UTF-8
  /// Tokens of the reply, including a token that ended it. The last token has been sampled, but the
  /// model has not processed it.
  std::vector<int32_t> tokens;
  StopReason stop = StopReason::kMaxTokens;
  double first_token_seconds = 0;  ///< seconds from the start of the generation
  /// Sum of the times from input() to take() for all tokens after the first. The times from take()
  /// to the next input() are not included. If a batch of replies is decoded together, each reply
  /// counts the whole time of the decode step.
  double decode_seconds = 0;
  int64_t decode_steps = 0;
  /// Number of tokens that were repeated if the reply ended with StopReason::kLoop; else 0.
  int64_t loop_tokens = 0;

  double tokens_per_second() const;
};

class Generation {
 public:
  using TextCallback = std::function<void(std::string_view text)>;

  /// Starts a reply of a sequence whose prompt has been processed. Samples the first token from the
  /// sequence's logits. `sequence` must outlive this object. `on_text` is called with each new
  /// piece of text, which never ends within a UTF-8 character.
  Generation(const Sequence& sequence, const GenerateOptions& options, TextCallback on_text = {});
  ~Generation();
  Generation(Generation&&) noexcept;

  /// Returns the token that the model must process next, or nothing if the reply has ended. Ends
  /// the reply if it was cancelled or has reached its maximum length.
  std::optional<int32_t> input();
  /// Samples the next token. `logits` [vocab] are those after the token that input() returned.
  /// sequence.tokens() must already end with that token.
  void take(std::span<const float> logits);

  bool ended() const;
  /// Returns the reply so far. The reply is complete once ended() is true.
  const Reply& reply() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
