#pragma once
// One answered sample: a line of DIR/samples.jsonl, written as soon as it is available. A run
// directory contains run.json (the request and the machine) and samples.jsonl (read by
// record_file.h).
//
// The keys of run.json that `longhaul report` uses; it lists every other key unchanged:
//   "version": "0.1.0"       "build": "c1d3045"      "seed": 1     "started": "ISO 8601"
//   "command": "longhaul eval ..."     "commands": [...]   the last one; all, in order
//   "model": {"name": ..., "weight_bytes": ..., ...}
//   "machine": {"cpu": ..., "threads": ..., ...}
//   "tasks": [{"name": ..., "summary": ..., "rule": ..., "source": ...}, ...]
//   "methods": ["dense", "control:no-context", ...]   in display order

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Prefix of the names of baselines.
inline constexpr std::string_view kControlPrefix = "control:";
/// Whether a method of that name is a baseline, which reads a part of the prompt or is shown the
/// place of the answer.
inline bool of_control(std::string_view method) { return method.starts_with(kControlPrefix); }

struct Record {
  // The cell. (task, opening, length, id, method) is unique in a run.
  std::string task;
  bool opening = false;  ///< the prompt ended with the answer's opening words
  int64_t length = 0;    ///< requested length; 0: the sample's own
  std::string id;
  std::string group;
  std::optional<double> depth;
  std::string method;  ///< canonical text, or "control:no-context", "control:evidence+infllm", ...
  // The result.
  std::string sample_hash;  ///< hex xxh3 of the texts in the prompt; may be empty
  std::string prompt_hash;  ///< hex xxh3 of the prompt's token ids
  int64_t prompt_tokens = 0;
  /// Tokens removed from the middle of the text so that it fits `cut_to` together with the reply
  /// (Sample).
  int64_t cut_tokens = 0, cut_to = 0;
  std::string reply;
  std::vector<std::string> expected;
  double score = 0;  ///< 0..1; for metric "nll" the mean negative log-likelihood, nats per token
  std::string metric = "score";  ///< "score" (higher is better) or "nll" (lower is better)
  /// For nll: number of text tokens before the stretch whose mean this record holds (over
  /// `reply_tokens` tokens). Stretches of one text share `group`, and each has its own id
  /// ("emma@4096").
  std::optional<int64_t> position;
  int64_t reply_tokens = 0;
  double first_token_seconds = 0;
  double prefill_seconds = 0;
  double decode_tokens_per_second = 0;
  int64_t kv_bytes = 0;    ///< after prefill
  double pairs_share = 1;  ///< computed attention pairs as a fraction of dense attention's
  double attention_seconds = 0;
  /// Per layer, the share of the answer's tokens that were visible to the reply's rows
  /// (eval/answer_recall.h); empty if unknown.
  std::vector<double> recall;
  /// Rank of the answer's passage among those used by the reply, 1 being the first; 0: not among
  /// them (source_rank() in eval/ask.cc). None if not requested, if the answer is not in the text,
  /// or if the method moves its keys.
  std::optional<int64_t> source_rank;
  /// Share of the attention on the context that the first passage has; none as source_rank, but
  /// also known where the answer is not in the text.
  std::optional<double> source_share;
  std::string error;  ///< why there is no reply (score 0); empty if there is one

  /// False for the second and later stretches of a text: the first one represents its answer.
  bool begins_answer() const { return position.value_or(0) == 0; }
  /// The sample's id: `id` without the stretch's position.
  std::string sample_id() const;
  /// The cell's fields as one text.
  std::string key() const;
  /// key() without the method: records with equal values answer one prompt.
  std::string prompt_key() const;
};

/// Number of answers in the records: all stretches of one predicted text count as one answer.
int64_t count_answers(std::span<const Record> records);

/// Conversion to and from one line of JSON, without the newline. from_json throws UserError with
/// the key.
std::string to_json(const Record& record);
Record record_from_json(const std::string& line);

}  // namespace longhaul
