#pragma once
// Functions that process a prompt and generate a reply. `longhaul run`, the chat and the test
// programs use them.

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string_view>

#include "engine/generation.h"
#include "engine/session.h"

namespace longhaul {

/// The result of read_prompt().
struct PromptReading {
  int64_t tokens = 0;  ///< tokens of the whole prompt
  int64_t reused = 0;  ///< prompt tokens that the session had already processed
  int64_t read = 0;    ///< number of prompt tokens that this prefill processed
  double seconds = 0;  ///< time of prefill; if `finished`, including the logits of the next token
  bool finished = false;  ///< false if prefill was cancelled

  double tokens_per_second() const;  ///< returns `read` divided by `seconds`
};

/// Makes the session's tokens equal to `prompt`. The common prefix of the two is kept if possible
/// (Sequence::reuse_prefix()), and the remaining tokens of the prompt are processed. Throws
/// UserError if the prompt is empty, longer than SessionOptions::context, or too large for memory.
PromptReading read_prompt(Session& session, std::span<const int32_t> prompt,
                          const PrefillHooks& hooks = {});

/// Generates the reply to the prompt that the session has processed. `on_text` is called with each
/// new piece of text.
Reply generate(Session& session, const GenerateOptions& options,
               const std::function<void(std::string_view text)>& on_text = {});

/// One of several replies that are generated in one batch.
struct RunningReply {
  Sequence* sequence = nullptr;
  Generation* generation = nullptr;
  std::exception_ptr failed = nullptr;  ///< set if the sequence failed; the reply then ends
};

/// Generates the next token of every reply that has neither ended nor failed, in one batch. Returns
/// the number of these replies.
size_t advance_together(ModelRunner& runner, std::span<RunningReply> replies);

}  // namespace longhaul
