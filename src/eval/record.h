#pragma once
// A record of one answered sample. It is a line of DIR/samples.jsonl, which is written as soon as
// the answer is available. A run directory contains run.json (the request and the machine) and
// samples.jsonl (read by record_file.h).
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
/// Returns whether `method` is the name of a baseline. Baselines read a part of the prompt, or are
/// shown the place of the answer.
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
  /// For nll only. A record holds the mean over a stretch (a range) of `reply_tokens` tokens of the
  /// text, and `position` is the number of tokens before the stretch. Stretches of one text share
  /// `group`, and each has its own id ("emma@4096").
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
  /// Rank of the answer's passage among the passages used by the reply (source_rank() in
  /// eval/ask.cc). 1 is the first; 0 means that the answer's passage is not among them. Empty if
  /// the rank was not requested, if the answer is not in the text, or if the reply saw no text.
  std::optional<int64_t> source_rank;
  /// Share of the attention on the context that goes to the passage with rank 1. Empty in the cases
  /// of source_rank, except that the answer need not be in the text.
  std::optional<double> source_share;
  std::string error;  ///< why there is no reply (score 0); empty if there is one

  /// False for the second and later stretches of a text: the first one represents its answer.
  bool begins_answer() const { return position.value_or(0) == 0; }
  /// Returns the sample's id, which is `id` without the position of the stretch.
  std::string sample_id() const;
  /// Returns the fields of the cell as one text.
  std::string key() const;
  /// Returns key() without the method. Records with equal values answer the same prompt.
  std::string prompt_key() const;
};

/// Returns the number of answers in the records. All stretches of one predicted text count as one
/// answer.
int64_t count_answers(std::span<const Record> records);

/// Converts a record to one line of JSON, without the newline, and back. from_json() throws
/// UserError with the key.
std::string to_json(const Record& record);
Record record_from_json(const std::string& line);

}  // namespace longhaul
