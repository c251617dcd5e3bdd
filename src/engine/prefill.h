#pragma once
// Prefill processes one prompt in steps, so that other sequences can be computed between the steps
// and between the layers of a step. A step computes a group of passes, each of which is a forward
// pass over some tokens of the prompt (attention/step.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/cancel.h"
#include "engine/model_runner.h"
#include "engine/sequence.h"

namespace longhaul {

struct PrefillHooks {
  /// Called after every layer of a step. `done` is the number of processed tokens, and `total` is
  /// the number of tokens of the prompt. The tokens of the current step are counted in proportion
  /// to its finished layers.
  std::function<void(int64_t done, int64_t total)> progress;
  /// Called whenever `progress` is called. The current step processes tokens [begin, begin + count)
  /// of the prompt. `share` is the fraction of its layers that is finished.
  std::function<void(int64_t begin, int64_t count, double share)> pass_progress;
  const CancelFlag* cancel = nullptr;
  /// Called with the logits after every token of the prompt, [rows, vocab]. `first` is the index in
  /// the prompt of the token of row 0. Perplexity measurements use it.
  std::function<void(int64_t first, int64_t rows, const float* logits)> all_logits;
  int64_t instruction = 0;  ///< number of tokens of the instruction (question) at the prompt's end
  std::span<const int64_t> evidence;  ///< see PromptFacts::evidence; only the constructor reads it
  int64_t reply = 0;  ///< largest number of tokens of the reply, for the memory forecast
  /// Number of tokens that later prefills will add to the same context. Some models scale their
  /// RoPE angles by the length of the context. The angles are then computed for the length
  /// including these tokens.
  int64_t to_come = 0;
};

/// Result of Prefill::step().
enum class PrefillStep : uint8_t {
  kMore,       ///< further steps are needed
  kDone,       ///< the whole prompt has been processed; Sequence::logits() are valid
  kCancelled,  ///< PrefillHooks::cancel was set; the sequence has no logits
};

class Prefill {
 public:
  /// Divides the prompt into passes but computes nothing. Copies the tokens. Throws UserError,
  /// without changes to the sequence, if the tokens exceed SessionOptions::context, if the memory
  /// forecast exceeds the memory limit, or if the attention method rejects the prompt. `sequence`
  /// must outlive this object. Nothing else may change `sequence` until the last step.
  Prefill(Sequence& sequence, std::span<const int32_t> tokens, PrefillHooks hooks = {});
  /// If steps are missing, leaves the sequence as after a cancelled prefill: it contains the tokens
  /// of the finished steps.
  ~Prefill();
  Prefill(Prefill&&) noexcept;

  /// Computes the next group of passes, with at most Sequence::chunk() tokens in total. It may be
  /// called again only after kMore.
  ///
  /// `yield` is called between any two layers. It is also called within layers if a layer is
  /// predicted to take more than 250 ms at the full context length (SessionOptions::context, or the
  /// end of the prompt if that is later). If several devices share the model, `yield` is never
  /// called. It may compute other sequences in other runners, and must not throw.
  ///
  /// If the prompt is cancelled (PrefillHooks::cancel), the tokens of finished steps remain in the
  /// sequence. The current step is undone if the attention method supports this
  /// (AttentionDriver::can_rewind()). Otherwise it is finished. If a pass throws, the sequence is
  /// reset.
  PrefillStep step(ModelRunner& runner, const std::function<void()>& yield = {});

  int64_t tokens() const;  ///< returns the number of tokens of the prompt
  int64_t done() const;    ///< returns the number of tokens processed in finished steps

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Prefills a whole prompt. Returns false if it was cancelled.
bool prefill(Sequence& sequence, ModelRunner& runner, std::span<const int32_t> tokens,
             const PrefillHooks& hooks = {});

}  // namespace longhaul
