#pragma once
// One prompt and its reply: the functions that `run`, the chat and every test program call.

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string_view>

#include "engine/generation.h"
#include "engine/session.h"

namespace longhaul {

struct PromptReading {
  int64_t tokens = 0;  ///< tokens of the whole prompt
  int64_t reused = 0;  ///< prompt tokens that were in the session already
  int64_t read = 0;    ///< other prompt tokens that were read: all of them if finished
  double seconds = 0;  ///< duration of reading, including the logits of the next token if finished
  bool finished = false;

  double tokens_per_second() const;  ///< speed of the tokens that were read
};

/// Makes the session's context equal to `prompt` and reads only the tokens after their common
/// prefix. Throws UserError if the prompt is empty, longer than the session's context, or too large
/// for memory.
PromptReading read_prompt(Session& session, std::span<const int32_t> prompt,
                          const PrefillHooks& hooks = {});

/// Continues a session whose prompt has been read. `on_text` receives the text as it is generated.
Reply generate(Session& session, const GenerateOptions& options,
               const std::function<void(std::string_view text)>& on_text = {});

/// One of several replies that are generated together.
struct RunningReply {
  Sequence* sequence = nullptr;
  Generation* generation = nullptr;
  std::exception_ptr failed = nullptr;  ///< set if the sequence failed; the reply goes no further
};

/// Decodes one token of every reply that has neither ended nor failed, in one batch. Returns how
/// many of the replies were advanced.
size_t advance_together(ModelRunner& runner, std::span<RunningReply> replies);

}  // namespace longhaul
