#pragma once
// Processes one prompt and generates its reply. `run`, the chat and the test programs use these
// functions.

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string_view>

#include "engine/generation.h"
#include "engine/session.h"

namespace longhaul {

/// How a prompt was processed.
struct PromptReading {
  int64_t tokens = 0;     ///< tokens of the whole prompt
  int64_t reused = 0;     ///< prompt tokens that the session already contained
  int64_t read = 0;       ///< number of prompt tokens that this prefill processed
  double seconds = 0;     ///< time of prefill; includes the logits of the next token if `finished`
  bool finished = false;  ///< false if prefill was cancelled

  double tokens_per_second() const;  ///< returns the speed of the processed tokens
};

/// Makes the session's context equal to `prompt`. Only the tokens after the common prefix of the
/// two are processed. Throws UserError if the prompt is empty, longer than the session's context,
/// or too large for memory.
PromptReading read_prompt(Session& session, std::span<const int32_t> prompt,
                          const PrefillHooks& hooks = {});

/// Generates the reply to the prompt that the session has processed. `on_text` receives the text as
/// it is generated.
Reply generate(Session& session, const GenerateOptions& options,
               const std::function<void(std::string_view text)>& on_text = {});

/// One of several replies that are generated in one batch.
struct RunningReply {
  Sequence* sequence = nullptr;
  Generation* generation = nullptr;
  std::exception_ptr failed = nullptr;  ///< set if the sequence failed; the reply is not continued
};

/// Decodes one token of each reply that has neither ended nor failed, in one batch. Returns the
/// number of these replies.
size_t advance_together(ModelRunner& runner, std::span<RunningReply> replies);

}  // namespace longhaul
