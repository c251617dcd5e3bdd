#pragma once
// Runs one sample with one method: starts with an empty context, processes the prompt, generates a
// greedy reply and scores it.

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
  double engine_seconds = 0;    ///< prefill and decode, without composing and scoring
  /// Time until the reply is complete. It includes waiting for the other replies of its batch.
  double reply_seconds = 0;
};

/// A dense prefill of a prompt. Methods whose prefill begins densely continue from it.
struct SharedReading {
  std::optional<ContextCopy> copy;
  /// True if the dense prefill did not fit in memory together with the sessions that continue from
  /// it. The prefill is then not tried again.
  bool no_room = false;
  /// Duration of the prefill; each method that continues from it counts the whole duration.
  double seconds = 0;
};

/// Prefills a prompt densely and stores the result in `shared`. Continues from the contents of
/// `shared`. Returns the seconds spent. Does nothing if the prompt cannot be processed.
double read_shared(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
                   const SessionOptions& options, const ComposedPrompt& prompt,
                   const CancelFlag* cancel, SharedReading& shared);

/// Computes an answer in two steps: processes the prompt, and then generates the reply, alone or in
/// a batch with other replies. `cell` contains the fields of the record that describe the sample
/// (task, length, id, method, ...). The other fields are filled in. If this sample or method fails,
/// the reason is stored in Record::error. With `sources`, Record::source_rank is also filled in.
class Answering {
 public:
  /// All references must outlive this object.
  Answering(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
            std::shared_ptr<const Sample> sample, ComposedPrompt prompt, const Record& cell,
            const CancelFlag* cancel, bool sources = false);
  ~Answering();
  Answering(Answering&&) noexcept;

  /// Returns whether the prompt and its reply fit in memory together with `others` bytes that other
  /// sequences use.
  bool has_room(size_t others);
  /// Processes the prompt. If `shared` is given, the method continues from it as far as possible,
  /// and dense attention stores its prefill there. `others` is the number of bytes that other
  /// sequences use.
  void read(ModelRunner& runner, SharedReading* shared, size_t others = 0);
  /// Returns the reply, for advance_together() (engine/generate.h). Returns null if there is no
  /// reply, because the prompt failed or was cancelled.
  RunningReply* reply();
  /// Returns whether the reply is complete.
  bool ended() const;
  /// Returns the current bytes of keys and values.
  size_t kv_bytes() const;
  /// Returns the answer. Call it when ended() is true.
  Asked finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Computes an answer, with a model runner of its own.
Asked ask(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
          const Sample& sample, const ComposedPrompt& prompt, const Record& cell,
          const CancelFlag* cancel);

/// Predicts the text of a sample instead of asking a question. Returns one record for each stretch
/// of the text. A stretch is a range of positions (position_stretches()).
Asked predict(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
              const SessionOptions& options, const ComposedPrompt& prompt, const Record& cell,
              const CancelFlag* cancel);

/// Returns the first positions of the stretches of a text with `tokens` tokens: 0, 1024, 2048,
/// 4096, 8192, ...
std::vector<int64_t> position_stretches(int64_t tokens);
/// Returns the id of a stretch's record, such as "7@4096".
std::string stretch_id(const std::string& sample, int64_t position);

}  // namespace longhaul
