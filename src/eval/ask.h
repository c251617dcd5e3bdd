#pragma once
// Runs one sample with one attention method: prefills its prompt in an empty sequence, generates a
// greedy reply and scores the reply.

#include <memory>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "engine/generate.h"
#include "eval/compose.h"
#include "eval/record.h"
#include "eval/sample.h"

namespace longhaul {

struct Asked {
  std::vector<Record> records;  ///< empty if cancelled
  double engine_seconds = 0;    ///< seconds of prefill and decode, without tokenizing and scoring
  /// Seconds until the reply was complete. If several replies are decoded in a batch, the other
  /// replies contribute to this time.
  double reply_seconds = 0;
};

/// A prefill with dense attention that several methods share. A method whose prefill begins with
/// dense attention continues from this prefill instead of computing it again.
struct SharedReading {
  std::optional<ContextCopy> copy;
  /// Whether the dense prefill did not fit in memory together with a sequence that continues from
  /// it. The prefill is then not shared any more.
  bool no_room = false;
  /// Duration of the dense prefill in seconds. It is added to the prefill time of each method that
  /// continues from it.
  double seconds = 0;
};

/// Prefills a prompt with dense attention and stores the result in `shared`. If `shared` already
/// has a prefill of the prompt's first tokens, continues from it. Returns the seconds that this
/// took. Leaves `shared` unchanged if the prompt cannot be processed.
double read_shared(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
                   const SessionOptions& options, const ComposedPrompt& prompt,
                   const CancelFlag* cancel, SharedReading& shared);

/// Computes an answer in two steps: read() prefills the prompt, and then the reply is generated,
/// alone or in a batch with other replies. `cell` is a record whose members that identify the
/// answer are set (task, length, id, method, ...). Answering sets the other members. If the sample
/// cannot be run with the method, the reason is stored in Record::error. If `sources` is true,
/// Record::source_rank is also computed.
class Answering {
 public:
  /// All references must outlive this object.
  Answering(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
            std::shared_ptr<const Sample> sample, ComposedPrompt prompt, const Record& cell,
            const CancelFlag* cancel, bool sources = false);
  ~Answering();
  Answering(Answering&&) noexcept;

  /// Returns whether the keys and values of the prompt and its reply fit in memory. Other sequences
  /// already use `others` bytes.
  bool has_room(size_t others);
  /// Prefills the prompt. If `shared` is not null, the method continues from the dense prefill in
  /// `shared` as far as possible. If the method is dense attention, it stores its prefill in
  /// `shared`. `others` is the number of bytes that other sequences use.
  void read(ModelRunner& runner, SharedReading* shared, size_t others = 0);
  /// Returns the reply, which advance_together() (engine/generate.h) must complete. Returns null if
  /// there is no reply, because the prefill failed or was cancelled.
  RunningReply* reply();
  /// Returns whether the reply is complete.
  bool ended() const;
  /// Returns the current size of the keys and values in bytes.
  size_t kv_bytes() const;
  /// Returns the answer. Call it when ended() is true.
  Asked finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Computes an answer by Answering, with a model runner of its own.
Asked ask(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
          const Sample& sample, const ComposedPrompt& prompt, const Record& cell,
          const CancelFlag* cancel);

/// Measures how well the model predicts the text of a sample, instead of generating a reply
/// (Sample::perplexity). The text is split into stretches, which are ranges of positions
/// (position_stretches()). Returns one record for each stretch.
Asked predict(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
              const SessionOptions& options, const ComposedPrompt& prompt, const Record& cell,
              const CancelFlag* cancel);

/// Returns the first positions of the stretches of a text with `tokens` tokens: 0, 1024, 2048,
/// 4096, 8192, ...
std::vector<int64_t> position_stretches(int64_t tokens);
/// Returns the id of a stretch's record, such as "7@4096".
std::string stretch_id(const std::string& sample, int64_t position);

}  // namespace longhaul
