#pragma once
// A job and its state in the scheduler.

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
  bool accepted = false;       ///< whether JobSink::accepted() has been called
  int overtaken = 0;           ///< how often shorter jobs have overtaken it
  double computed = 0;         ///< seconds that its prefill has taken
  size_t most_bytes = 0;       ///< upper bound of its bytes, computed at admission
  int64_t reply_reserved = 0;  ///< tokens of the reply that most_bytes includes
  PrefillLane lane = PrefillLane::kLong;
  /// Whether a step of its prefill is running; it may have yielded to other work.
  bool stepping = false;
  /// Number of choices that have the prompt in their sequence. Without clone(), each choice
  /// prefills it separately.
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
  TreeKey own_tree;           ///< the tree of its attention method
  Resume resume;              ///< holds a lease of resume.snapshot
  size_t shared_bytes = 0;    ///< bytes of its sequence that are pages of resume.snapshot
  std::vector<int64_t> cuts;  ///< lengths at which the prefill will still be divided
  std::vector<Leg> legs;      ///< how its sequence was computed
  bool dense_stage = false;   ///< whether the method of its sequence is currently dense attention
  bool cold = true;  ///< whether its sequence was computed in the same way as without a cache
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
