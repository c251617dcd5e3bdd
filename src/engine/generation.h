#pragma once
// One reply, token by token. Many generations of one process can be at different tokens at the same
// time, because the caller decodes: it calls input(), reads that token into the sequence, and
// passes the logits to take().

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
  kEndOfReply,  ///< the model chose a token that ends replies
  kStopString,
  kMaxTokens,
  kContextFull,  ///< SessionOptions::context was reached
  kCancelled,
  kLoop,  ///< the reply repeats itself: GenerateOptions::stop_loops
};
std::string_view name_of(StopReason reason);  ///< "end_of_reply", "stop_string", ...

struct GenerateOptions {
  SamplerOptions sampler;
  int64_t max_tokens = -1;        ///< negative: until the reply or the context ends
  std::vector<std::string> stop;  ///< texts that end the reply and are not part of it
  bool starts_text = true;        ///< the reply begins a text (DetokenizerOptions::starts_text)
  bool stop_loops = false;        ///< end a reply of temperature 0 that repeats itself
  const CancelFlag* cancel = nullptr;
  std::optional<grammar::Constraint> constraint;  ///< the reply's form, from its beginning
};

struct Reply {
  std::string text;             ///< valid UTF-8
  std::vector<int32_t> tokens;  ///< with the ending token; the last one is not in the sequence
  StopReason stop = StopReason::kMaxTokens;
  double first_token_seconds = 0;  ///< since the generation began
  /// The time of all later tokens from input() to take(), without waits between two steps. The
  /// steps of a batch count in full for each of its replies.
  double decode_seconds = 0;
  int64_t decode_steps = 0;
  int64_t loop_tokens = 0;  ///< length of the repeated stretch, if that ended the reply

  double tokens_per_second() const;
};

class Generation {
 public:
  using TextCallback = std::function<void(std::string_view text)>;

  /// Continues a sequence whose prompt has been read, and which must outlive this object. Samples
  /// the first token from its logits. `on_text` is called with the text as it is completed.
  Generation(const Sequence& sequence, const GenerateOptions& options, TextCallback on_text = {});
  ~Generation();
  Generation(Generation&&) noexcept;

  /// The token to decode next; none once the reply has ended. It also ends the reply if it was
  /// cancelled or has reached its greatest length.
  std::optional<int32_t> input();
  /// Samples the next token from the logits [vocab] after input(), which sequence.tokens() ends
  /// with by now.
  void take(std::span<const float> logits);

  bool ended() const;
  /// The reply so far; complete once it has ended.
  const Reply& reply() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
