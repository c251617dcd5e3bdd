#pragma once
// One sample put to one method: a fresh context, the prompt, a greedy reply, a score.

#include <memory>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "engine/session.h"
#include "eval/compose.h"
#include "eval/record.h"
#include "eval/sample.h"

namespace longhaul {

struct Asked {
  std::vector<Record> records;  ///< empty when it was cancelled
  double engine_seconds = 0;    ///< reading and writing, without composing and scoring
};

/// A dense reading of a prompt, for the methods that begin like it.
struct SharedReading {
  std::optional<ContextCopy> copy;
  bool no_room =
      false;           ///< it did not fit beside the sessions that go on from it: do not try again
  double seconds = 0;  ///< that it took; counts in full for every method that goes on from it
};

/// Reads a prompt densely, going on from what `shared` holds, and leaves the reading there.
/// Returns the seconds spent. Does nothing where it cannot be read.
double read_shared(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
                   const ComposedPrompt& prompt, const CancelFlag* cancel, SharedReading& shared);

/// `cell` holds what the record says of the sample (task, length, id, method ...); the rest is
/// filled in. What this sample or method cannot do becomes Record::error. With `shared` the method
/// goes on from there as far as it may, and dense attention leaves its reading there. `sources`:
/// fills in Record::source_rank too.
Asked ask(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
          const Sample& sample, const ComposedPrompt& prompt, const Record& cell,
          const CancelFlag* cancel, SharedReading* shared = nullptr, bool sources = false);

/// The same for a text that is predicted: one record for each stretch of positions.
Asked predict(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
              const ComposedPrompt& prompt, const Record& cell, const CancelFlag* cancel);

/// Where the stretches of a text of so many tokens begin: 0, 1024, 2048, 4096, 8192, ...
std::vector<int64_t> position_stretches(int64_t tokens);
/// The records' ids: "7@4096".
std::string stretch_id(const std::string& sample, int64_t position);

}  // namespace longhaul
