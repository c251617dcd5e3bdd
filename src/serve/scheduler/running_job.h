#pragma once
// A job and the scheduler's state of it.

#include <memory>
#include <optional>
#include <vector>

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

  std::unique_ptr<ServedSequence> sequence;  ///< in prefill
  std::unique_ptr<ServedPrefill> prefill;
  std::vector<TokenReport> prompt_reports;

  struct Choice {
    std::unique_ptr<ServedSequence> sequence;
    std::unique_ptr<ReplyMaker> maker;
    bool ended = false;
    double last_token = 0;
  };
  std::vector<Choice> choices;
  JobReport report;

  int64_t left() const { return prefill ? prefill->total() - prefill->done() : 0; }
  size_t bytes() const {
    size_t sum = sequence ? sequence->facts().kv_bytes : 0;
    for (const Choice& choice : choices) {
      if (choice.sequence) sum += choice.sequence->facts().kv_bytes;
    }
    return sum;
  }
};

}  // namespace longhaul::serve
