#pragma once
// A job and the scheduler's state of it.

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
  bool accepted = false;       ///< its sink has learnt that it is not refused
  int overtaken = 0;           ///< how often shorter jobs overtook it
  double computed = 0;         ///< seconds of its prefill
  size_t most_bytes = 0;       ///< most bytes at admission
  int64_t reply_reserved = 0;  ///< tokens of the reply that most_bytes counts
  PrefillLane lane = PrefillLane::kLong;
  bool stepping = false;      ///< its prefill is on the stack
  int prefilled_choices = 0;  ///< without clone() each choice reads the prompt

  // Its way through the prefix cache (caching.cc).
  bool uses_cache = false;
  bool memory_only = false;  ///< there was no room to load a snapshot
  ResumeRule rule;
  TreeKey own_tree;           ///< the tree of its method
  Resume resume;              ///< with a lease of resume.snapshot
  size_t shared_bytes = 0;    ///< bytes of its sequence that are pages of resume.snapshot
  std::vector<int64_t> cuts;  ///< ends of the prefills before the last one that are still to come
  std::vector<Leg> legs;      ///< how its sequence was read
  bool dense_stage = false;   ///< its sequence is one of dense attention
  bool cold = true;           ///< it has been read as without a cache
  double seconds_reused = 0;  ///< computing time of the reused tokens

  std::unique_ptr<ServedSequence> sequence;  ///< in prefill
  std::unique_ptr<ServedPrefill> prefill;
  std::vector<TokenReport> prompt_reports;

  struct Choice {
    std::unique_ptr<ServedSequence> sequence;
    std::unique_ptr<ReplyMaker> maker;
    std::shared_ptr<SourceWatch> watch;  ///< null: the sources are not asked for
    bool ended = false;
    double last_token = 0;
  };
  std::vector<Choice> choices;
  JobReport report;

  size_t bytes() const {
    size_t sum = sequence ? sequence->facts().kv_bytes : 0;
    for (const Choice& choice : choices) {
      if (choice.sequence) sum += choice.sequence->facts().kv_bytes;
    }
    return sum;
  }
};

}  // namespace longhaul::serve
