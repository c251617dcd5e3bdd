#pragma once
// One prompt and its reply: what `run`, the chat and every harness call.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "engine/sampler.h"
#include "engine/session.h"

namespace longhaul {

struct PromptReading {
  int64_t tokens = 0;  ///< of the whole prompt
  int64_t reused = 0;  ///< of them, in the session already
  int64_t read = 0;    ///< of the others, read: all of them when it finished
  double seconds = 0;  ///< of that, up to the logits of the next token when it finished
  bool finished = false;

  double tokens_per_second() const;  ///< of those read
};

/// Makes the session's context equal `prompt`, reading only what it does not share with it. Throws
/// UserError when the prompt is empty, longer than the session's context or too large for memory.
PromptReading read_prompt(Session& session, std::span<const int32_t> prompt,
                          const PrefillHooks& hooks = {});

enum class StopReason : uint8_t {
  kEndOfReply,  ///< the model chose a token that ends replies
  kStopString,
  kMaxTokens,
  kContextFull,  ///< SessionOptions::context reached
  kCancelled,
  kLoop,  ///< it repeats itself: GenerateOptions::stop_loops
};
std::string_view name_of(StopReason reason);  ///< "end_of_reply", "stop_string", ...

struct GenerateOptions {
  SamplerOptions sampler;
  int64_t max_tokens = -1;        ///< negative: until the reply or the context ends
  std::vector<std::string> stop;  ///< texts that end the reply and are not part of it
  bool starts_text = true;        ///< the reply begins a text (DetokenizerOptions::starts_text)
  bool stop_loops = false;        ///< end a reply of temperature 0 that repeats itself
  const CancelFlag* cancel = nullptr;
};

struct Reply {
  std::string text;             ///< valid UTF-8
  std::vector<int32_t> tokens;  ///< the ending token included; the last one is not in the session
  StopReason stop = StopReason::kMaxTokens;
  double first_token_seconds = 0;  ///< after the call began
  double decode_seconds = 0;       ///< all further tokens
  int64_t decode_steps = 0;
  int64_t loop_tokens = 0;  ///< of the stretch that is repeated, where that ended it

  double tokens_per_second() const;
};

/// Continues a session whose prompt has been read. `on_text` gets the text as it comes.
Reply generate(Session& session, const GenerateOptions& options,
               const std::function<void(std::string_view text)>& on_text = {});

}  // namespace longhaul
