#pragma once
// Runs one sample with one method. It starts a fresh context, reads the prompt, generates a greedy
// reply and scores it.

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
  double reply_seconds =
      0;  ///< time until the reply is complete, including waits for other replies of its batch
};

/// A dense prefill of a prompt, shared by the methods that begin with one.
struct SharedReading {
  std::optional<ContextCopy> copy;
  bool no_room = false;  ///< the dense prefill did not fit in memory beside the sessions that
                         ///< continue from it, so it is not tried again
  double seconds = 0;    ///< its duration, counted in full for every method that continues from it
};

/// Prefills a prompt densely, continuing from the contents of `shared`, and stores the result in
/// `shared`. Returns the seconds spent. Does nothing if the prompt cannot be read.
double read_shared(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
                   const SessionOptions& options, const ComposedPrompt& prompt,
                   const CancelFlag* cancel, SharedReading& shared);

/// Computes an answer in two steps. It reads the prompt, and then generates the reply, alone or in
/// a batch with other replies. `cell` contains the record's description of the sample (task,
/// length, id, method ...); the other fields are filled in. Failures of this sample or method are
/// stored in Record::error. With `sources`, also fills in Record::source_rank.
class Answering {
 public:
  /// All references must outlive this object.
  Answering(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
            std::shared_ptr<const Sample> sample, ComposedPrompt prompt, const Record& cell,
            const CancelFlag* cancel, bool sources = false);
  ~Answering();
  Answering(Answering&&) noexcept;

  /// Returns whether the prompt and its reply fit in memory beside `others` bytes that other
  /// sequences hold.
  bool has_room(size_t others);
  /// Reads the prompt. With `shared` the method continues from it as far as possible, and dense
  /// attention stores its prefill there. `others`: bytes that other sequences hold.
  void read(ModelRunner& runner, SharedReading* shared, size_t others = 0);
  /// Returns the reply to advance (engine/generate.h), or null if there is no reply because the
  /// prompt failed or was cancelled.
  RunningReply* reply();
  /// Returns whether the reply is complete.
  bool ended() const;
  /// Returns the bytes of keys and values at present.
  size_t kv_bytes() const;
  /// Returns the answer. Call it when ended() is true.
  Asked finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Computes an answer with a runner of its own.
Asked ask(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
          const Sample& sample, const ComposedPrompt& prompt, const Record& cell,
          const CancelFlag* cancel);

/// Variant of ask() for samples whose text is predicted. It gives one record for each stretch,
/// which is a range of positions (position_stretches()).
Asked predict(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
              const SessionOptions& options, const ComposedPrompt& prompt, const Record& cell,
              const CancelFlag* cancel);

/// Returns the first positions of the stretches of a text with `tokens` tokens: 0, 1024, 2048,
/// 4096, 8192, ...
std::vector<int64_t> position_stretches(int64_t tokens);
/// Returns the id of a stretch's record: "7@4096".
std::string stretch_id(const std::string& sample, int64_t position);

}  // namespace longhaul
