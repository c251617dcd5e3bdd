#pragma once
// A RunningJob is a job with its state in the scheduler.

#include <memory>
#include <optional>
#include <vector>

#include "serve/cache/prefix_cache.h"
#include "serve/scheduler/engine_port.h"
#include "serve/scheduler/job.h"
#include "serve/scheduler/reply_maker.h"

namespace longhaul::serve {

struct RunningJob {
  std::shared_ptr<Job> job;
  enum class State { kWaiting, kPrefilling, kDecoding, kEnded };
  State state = State::kWaiting;

  double arrived = 0, admitted = 0, prefill_began = 0, prefill_ended = 0, last_progress = -1;
  bool accepted = false;  ///< whether JobSink::accepted() has been called
  /// Number of shorter jobs that arrived later but were admitted earlier than this job.
  int overtaken = 0;
  double computed = 0;  ///< seconds that its prefill has taken so far
  /// Upper bound of the bytes that it will need, computed at admission.
  size_t most_bytes = 0;
  int64_t reply_reserved = 0;  ///< number of reply tokens for which most_bytes suffices
  PrefillLane lane = PrefillLane::kLong;
  /// Whether ServedPrefill::step() of this job is running. The step may have called `yield`, so
  /// that other jobs compute meanwhile.
  bool stepping = false;
  /// Number of choices whose sequence contains the prompt. If the engine cannot clone sequences,
  /// each choice prefills the prompt separately.
  int prefilled_choices = 0;

  // The following members describe how the job uses the prefix cache (caching.cc).
  bool uses_cache = false;
  /// Whether there was no memory to bring a snapshot back from host memory or from disk.
  bool memory_only = false;
  /// A snapshot that is being brought back for the job, with a pin; null: there is none.
  std::shared_ptr<Snapshot> awaited;
  /// The place from which a snapshot was brought back for the job: "host" or "disk".
  const char* reused_from = "memory";
  ResumeRule rule;
  TreeKey own_tree;  ///< the key of the snapshots of its own attention method
  Resume resume;     ///< the job holds a lease of resume.snapshot
  /// Bytes of its sequence in pages that it shares with resume.snapshot.
  size_t shared_bytes = 0;
  /// Cut points (serve/cache/cut_points.h) that the prefill has not reached yet.
  std::vector<int64_t> cuts;
  std::vector<Leg> legs;  ///< how its sequence was computed
  /// Whether its sequence currently uses dense attention, before it switches to its own method.
  bool dense_stage = false;
  bool cold = true;  ///< whether its sequence was computed exactly as it would be without a cache
  double seconds_reused = 0;  ///< computing time of the reused tokens

  std::unique_ptr<ServedSequence> sequence;  ///< used during prefill
  std::unique_ptr<ServedPrefill> prefill;
  std::vector<TokenReport> prompt_reports;

  struct Choice {
    std::unique_ptr<ServedSequence> sequence;
    std::unique_ptr<ReplyMaker> maker;
    std::shared_ptr<SourceWatch> watch;  ///< null: sources are not requested
    bool ended = false;
    double last_token = 0;
    std::optional<ReplyPiece> made;  ///< a piece that the sink has not received yet
  };
  std::vector<Choice> choices;
  JobReport report;

  size_t bytes() const {
    size_t sum = sequence ? sequence->kv_bytes() : 0;
    for (const Choice& choice : choices) {
      if (choice.sequence) sum += choice.sequence->kv_bytes();
    }
    return sum;
  }
};

}  // namespace longhaul::serve
