#pragma once
// The prefill of one prompt as an object, so that other sequences can be computed between its
// steps and between the layers of a step.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/cancel.h"
#include "engine/model_runner.h"
#include "engine/sequence.h"

namespace longhaul {

struct PrefillHooks {
  /// Called after every layer of a group of passes with the number of finished tokens and the
  /// number of all tokens of the prompt. Tokens of the group count by the share of the layers that
  /// are done.
  std::function<void(int64_t done, int64_t total)> progress;
  /// Called at the same times with the group's tokens [begin, begin + count) of the prompt and the
  /// share of its layers that are done.
  std::function<void(int64_t begin, int64_t count, double share)> pass_progress;
  const CancelFlag* cancel = nullptr;
  /// Receives the logits of every row of a pass, [rows, vocab], with the first row's index in the
  /// prompt (perplexity).
  std::function<void(int64_t first, int64_t rows, const float* logits)> all_logits;
  int64_t instruction = 0;            ///< length of the instruction at the end, in tokens
  std::span<const int64_t> evidence;  ///< PromptFacts::evidence; read by the constructor only
  int64_t reply = 0;  ///< most tokens to be generated afterwards; the forecast includes them
  /// Tokens that further prefills will add to the same text. RoPE angles that depend on the length
  /// are those of the whole text.
  int64_t to_come = 0;
};

enum class PrefillStep : uint8_t {
  kMore,       ///< a group was computed and others follow
  kDone,       ///< the prompt has been read; Sequence::logits() are valid
  kCancelled,  ///< PrefillHooks::cancel was set; the sequence has no logits
};

class Prefill {
 public:
  /// Divides the prompt into passes and computes nothing. Throws UserError if the tokens go beyond
  /// `context`, if the forecast goes beyond the memory limit, or if the method refuses the prompt;
  /// the sequence is unchanged then. Copies the tokens. `sequence` must outlive this object, and
  /// nothing else may change it until the last step.
  Prefill(Sequence& sequence, std::span<const int32_t> tokens, PrefillHooks hooks = {});
  /// A prefill that is dropped before its last step leaves the sequence as a cancelled one does.
  ~Prefill();
  Prefill(Prefill&&) noexcept;

  /// Computes the next group of passes: at most Sequence::chunk() rows. `yield` is called between
  /// any two layers (never in a team), and within layers if a layer is predicted to take more than
  /// 250 ms at the end of the context. It may compute other sequences in other runners; it must not
  /// throw. When the step is cancelled, finished passes are kept. The group in progress is taken
  /// back, or finished if the method cannot take it back. If a pass throws, the sequence is reset.
  /// Call it again only after kMore.
  PrefillStep step(ModelRunner& runner, const std::function<void()>& yield = {});

  int64_t tokens() const;  ///< number of tokens in the prompt
  int64_t done() const;    ///< number of tokens read in finished steps

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Prefills a whole prompt. Returns false if it was cancelled.
bool prefill(Sequence& sequence, ModelRunner& runner, std::span<const int32_t> tokens,
             const PrefillHooks& hooks = {});

}  // namespace longhaul
