#pragma once
// Prefill processes one prompt in steps, so that other sequences can be computed between the steps
// and between the layers of a step. A step computes a group of passes together (attention/step.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/cancel.h"
#include "engine/model_runner.h"
#include "engine/sequence.h"

namespace longhaul {

struct PrefillHooks {
  /// The function is called after every layer of a step. `done` is the number of finished tokens,
  /// and `total` is the number of tokens of the prompt. The tokens of the current step count in
  /// proportion to the layers that are finished.
  std::function<void(int64_t done, int64_t total)> progress;
  /// The function is called whenever `progress` is called. Tokens [begin, begin + count) of the
  /// prompt are those of the current step. `share` is the fraction of the layers that this step has
  /// finished.
  std::function<void(int64_t begin, int64_t count, double share)> pass_progress;
  const CancelFlag* cancel = nullptr;
  /// Receives the logits of every row, [rows, vocab]. `first` is the index of the first row in the
  /// prompt. Perplexity measurements use it.
  std::function<void(int64_t first, int64_t rows, const float* logits)> all_logits;
  int64_t instruction = 0;  ///< tokens of the instruction (question) at the end of the prompt
  std::span<const int64_t> evidence;  ///< see PromptFacts::evidence; only the constructor reads it
  int64_t reply = 0;  ///< largest number of tokens of the reply; the memory forecast includes them
  /// Number of tokens that later prefills will add to the same context. RoPE angles that depend on
  /// the length of the context are computed for the whole length.
  int64_t to_come = 0;
};

/// Result of Prefill::step().
enum class PrefillStep : uint8_t {
  kMore,       ///< other steps follow
  kDone,       ///< the whole prompt has been processed; Sequence::logits() are valid
  kCancelled,  ///< PrefillHooks::cancel was set; the sequence has no logits
};

class Prefill {
 public:
  /// Divides the prompt into passes and computes nothing yet. Copies the tokens. Throws UserError
  /// if the tokens exceed `context`, if the forecast exceeds the memory limit, or if the method
  /// rejects the prompt. The sequence is then unchanged. `sequence` must outlive this object.
  /// Nothing else may change `sequence` until the last step.
  Prefill(Sequence& sequence, std::span<const int32_t> tokens, PrefillHooks hooks = {});
  /// Leaves the sequence as after a cancelled prefill, if the last step has not been computed.
  ~Prefill();
  Prefill(Prefill&&) noexcept;

  /// Computes the next group of passes, at most Sequence::chunk() rows. Call it again only after
  /// kMore.
  ///
  /// `yield` is called between two layers. It is also called within a layer if a layer at the end
  /// of the context is predicted to take more than 250 ms. If several devices share the model, it
  /// is never called. `yield` may compute other sequences in other runners, and must not throw.
  ///
  /// If the prompt is cancelled, finished steps are kept. The current group of passes is undone if
  /// the method can do so, and is finished otherwise. If a pass throws, the sequence is reset.
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
