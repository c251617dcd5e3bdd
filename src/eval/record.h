#pragma once
// Record describes one answered sample. A record is a line of DIR/samples.jsonl, and is written as
// soon as the answer is available. A run directory contains run.json (the settings and the machine)
// and samples.jsonl (read by record_file.h).
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
/// Returns whether `method` is the name of a baseline. A baseline processes only a part of the
/// prompt, or is given the location of the answer.
inline bool of_control(std::string_view method) { return method.starts_with(kControlPrefix); }

struct Record {
  // These fields identify the answer. (task, opening, length, id, method) is unique in a run.
  std::string task;
  bool opening = false;  ///< whether the prompt ended with the answer's opening words
  int64_t length = 0;    ///< requested length in tokens; 0: the sample has its own length
  std::string id;
  std::string group;
  std::optional<double> depth;
  /// Canonical text of the method, or "control:no-context", "control:evidence+infllm", ...
  std::string method;
  // These fields are the result.
  std::string sample_hash;  ///< hex xxh3 of the texts in the prompt; may be empty
  std::string prompt_hash;  ///< hex xxh3 of the prompt's token ids
  int64_t prompt_tokens = 0;
  /// Number of tokens that were removed from the middle of the context, so that prompt and reply
  /// fit in `cut_to` tokens (Sample).
  int64_t cut_tokens = 0, cut_to = 0;
  std::string reply;
  std::vector<std::string> expected;
  /// 0 to 1; for metric "nll" the mean negative log-likelihood in nats per token.
  double score = 0;
  std::string metric = "score";  ///< "score" (higher is better) or "nll" (lower is better)
  /// These members are set only for metric "nll". The record then holds the mean over a stretch of
  /// the text: `reply_tokens` tokens after the first `position` tokens. All stretches of one text
  /// have the same `group`, and each has its own id ("emma@4096").
  std::optional<int64_t> position;
  int64_t reply_tokens = 0;
  double first_token_seconds = 0;
  double prefill_seconds = 0;
  double decode_tokens_per_second = 0;
  int64_t kv_bytes = 0;  ///< bytes of keys and values after prefill
  /// Number of computed attention pairs, divided by the number that dense attention computes.
  double pairs_share = 1;
  double attention_seconds = 0;
  /// Per layer: the share of the answer's tokens that were visible to the rows which generate the
  /// reply (eval/answer_recall.h). The vector is empty if the shares are unknown.
  std::vector<double> recall;
  /// Rank of the passage with the answer, among the passages that the reply used (source_rank() in
  /// eval/ask.cc). 1 is the first. 0 means that the passage is not among them. There is no rank if
  /// it was not requested, if the text does not contain the answer, or if the reply attended to no
  /// token of the text.
  std::optional<int64_t> source_rank;
  /// Share of the attention on the context that goes to the passage with rank 1. There is no share
  /// if it was not requested, or if the reply attended to no token of the text.
  std::optional<double> source_share;
  /// Reason for which there is no reply; the score is then 0; empty: there is a reply.
  std::string error;

  /// Returns false for the second and later stretches of a text. The first stretch represents the
  /// answer.
  bool begins_answer() const { return position.value_or(0) == 0; }
  /// Returns the sample's id, which is `id` without the position of the stretch.
  std::string sample_id() const;
  /// Returns a string that contains the fields which identify the answer.
  std::string key() const;
  /// Returns key() without the method. Records with the same prompt_key() answer the same prompt.
  std::string prompt_key() const;
};

/// Returns the number of answers in the records. All stretches of one predicted text together are
/// one answer.
int64_t count_answers(std::span<const Record> records);

/// to_json() converts a record to one line of JSON, without the newline, and record_from_json()
/// converts it back. record_from_json() throws UserError that names the key.
std::string to_json(const Record& record);
Record record_from_json(const std::string& line);

}  // namespace longhaul
