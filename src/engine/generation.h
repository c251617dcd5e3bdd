#pragma once
// Generation produces one reply, token by token. The caller runs the model: it calls input(),
// decodes that token, and passes the logits to take(). Several generations can therefore be in
// progress at the same time.

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
  kLoop,  ///< the reply repeats itself (GenerateOptions::stop_loops)
};
std::string_view name_of(StopReason reason);  ///< returns "end_of_reply", "stop_string", ...

struct GenerateOptions {
  SamplerOptions sampler;
  int64_t max_tokens = -1;        ///< largest number of tokens of the reply; negative: no limit
  std::vector<std::string> stop;  ///< strings that end the reply; the reply does not include them
  bool starts_text = true;  ///< whether the reply begins a text (DetokenizerOptions::starts_text)
  bool stop_loops = false;  ///< whether a reply at temperature 0 ends when it repeats itself
  const CancelFlag* cancel = nullptr;
  std::optional<grammar::Constraint> constraint;  ///< grammar of the whole reply
};

struct Reply {
  std::string text;  ///< text of the reply, in valid UTF-8
  /// Tokens of the reply with the token that ended it; the last token has not been decoded.
  std::vector<int32_t> tokens;
  StopReason stop = StopReason::kMaxTokens;
  double first_token_seconds = 0;  ///< seconds from the start of the generation
  /// Sum of the times from input() to take() for all later tokens. Times between take() and input()
  /// are not included. A decode step of a batch counts in full for each of its replies.
  double decode_seconds = 0;
  int64_t decode_steps = 0;
  /// Length of the repeated part, if the reply ended because of it; else 0.
  int64_t loop_tokens = 0;

  double tokens_per_second() const;
};

class Generation {
 public:
  using TextCallback = std::function<void(std::string_view text)>;

  /// Starts a reply of a sequence whose prompt has been processed. Samples the first token from the
  /// sequence's logits. `sequence` must outlive this object. `on_text` receives the text as it is
  /// completed.
  Generation(const Sequence& sequence, const GenerateOptions& options, TextCallback on_text = {});
  ~Generation();
  Generation(Generation&&) noexcept;

  /// Returns the token to decode next, or nothing if the reply has ended. Ends the reply if it was
  /// cancelled or has reached its maximum length.
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
