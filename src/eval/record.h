#pragma once
// A Record describes one answer: the reply of the model to a sample with one method, and its score.
// The folder DIR of a run contains run.json, with the settings and the machine, and samples.jsonl,
// with one record per line. A record is written as soon as the answer is available.
//
// `longhaul report` uses the following keys of run.json, and lists every other key unchanged:
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
/// Returns whether `method` is the name of a baseline. The score of a baseline helps to judge the
/// scores of methods. A baseline is dense attention to only a part of the prompt, or a method that
/// is given the location of the answer.
inline bool of_control(std::string_view method) { return method.starts_with(kControlPrefix); }

struct Record {
  // The following members identify the answer. (task, opening, length, id, method) is unique in a
  // run.
  std::string task;
  /// Whether the prompt ended with the first words of the reply (Sample::opening).
  bool opening = false;
  int64_t length = 0;  ///< requested length in tokens; 0: the sample has its own length
  std::string id;
  std::string group;
  std::optional<double> depth;
  /// Canonical text of the method, or "control:no-context", "control:evidence+infllm", ...
  std::string method;
  // The following members are the result.
  std::string sample_hash;  ///< sample_hash() of the sample; empty in old files
  std::string prompt_hash;  ///< prompt_hash() of the prompt's tokens
  int64_t prompt_tokens = 0;
  /// Number of tokens that were removed from the middle of the context so that prompt and reply fit
  /// in `cut_to` tokens. Both are 0 if nothing was removed.
  int64_t cut_tokens = 0, cut_to = 0;
  std::string reply;
  std::vector<std::string> expected;
  /// Score from 0 to 1. For the metric "nll", the mean negative log-likelihood in nats per token.
  double score = 0;
  std::string metric = "score";  ///< "score" (higher is better) or "nll" (lower is better)
  /// For the metric "nll", the record holds the mean over a stretch of the text: `reply_tokens`
  /// tokens after the first `position` tokens. `position` is empty for other metrics. All stretches
  /// of one text have the same `group`, and each has its own id ("emma@4096").
  std::optional<int64_t> position;
  int64_t reply_tokens = 0;
  double first_token_seconds = 0;
  double prefill_seconds = 0;
  double decode_tokens_per_second = 0;
  int64_t kv_bytes = 0;  ///< size of keys and values after prefill in bytes
  /// Number of (query, key) pairs that attention computed, divided by the number for dense
  /// attention.
  double pairs_share = 1;
  double attention_seconds = 0;
  /// Recall in each layer: the share of the answer's tokens in the context to which the tokens of
  /// the reply could attend (eval/answer_recall.h). The vector is empty if the recall is unknown.
  std::vector<double> recall;
  /// Passages of the context are ranked by how much the reply attended to them (note_sources() in
  /// eval/ask.cc). This is the rank of the first passage that contains the answer; 1 is the
  /// highest. 0 means that none of the best passages contains it. The rank is empty if it was not
  /// requested, if the context does not contain the answer, or if the reply attended to no token of
  /// the context.
  std::optional<int64_t> source_rank;
  /// Share of the attention to the context that the passage with rank 1 received. The share is
  /// empty if it was not requested, or if the reply attended to no token of the context.
  std::optional<double> source_share;
  /// Reason why there is no reply. The score is then 0. Empty: there is a reply.
  std::string error;

  /// Returns whether the record is the only one or the first one of its answer. It is false only
  /// for the second and later stretches of a text.
  bool begins_answer() const { return position.value_or(0) == 0; }
  /// Returns the sample's id, which is `id` without the position of the stretch.
  std::string sample_id() const;
  /// Returns a string made of the members that identify the answer.
  std::string key() const;
  /// Returns key() without the method. Records with the same prompt_key() answer the same prompt.
  std::string prompt_key() const;
};

/// Returns the number of answers in the records. All stretches of one text together count as one
/// answer.
int64_t count_answers(std::span<const Record> records);

/// to_json() converts a record to one line of JSON, without the newline, and record_from_json()
/// converts it back. record_from_json() throws a UserError that names the key if the line is not a
/// record.
std::string to_json(const Record& record);
Record record_from_json(const std::string& line);

}  // namespace longhaul
