#pragma once
// One answered sample: a line of DIR/samples.jsonl, written as soon as it is known. A run directory
// is run.json (what was asked for, on which machine) and samples.jsonl (record_file.h reads it).
//
// What `longhaul report` reads of run.json; it lists every other key as it stands:
//   "version": "0.1.0"       "build": "c1d3045"      "seed": 1     "started": "ISO 8601"
//   "command": "longhaul eval ..."     "commands": [...]   the last one; all, in their order
//   "model": {"name": ..., "weight_bytes": ..., ...}
//   "machine": {"cpu": ..., "threads": ..., ...}
//   "tasks": [{"name": ..., "summary": ..., "rule": ..., "source": ...}, ...]
//   "methods": ["dense", "control:no-context", ...]   in the order in which they are to be shown

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// What the names of controls begin with.
inline constexpr std::string_view kControlPrefix = "control:";
/// Whether a method of that name is a control, which reads a part of the prompt or is shown where
/// the answer stands.
inline bool of_control(std::string_view method) { return method.starts_with(kControlPrefix); }

struct Record {
  // Which cell. (task, opening, length, id, method) is unique in a run.
  std::string task;
  bool opening = false;  ///< the prompt ended with the answer's opening words
  int64_t length = 0;    ///< asked for; 0: the sample's own
  std::string id;
  std::string group;
  std::optional<double> depth;
  std::string method;  ///< canonical text, or "control:no-context", "control:evidence+infllm", ...
  // What happened.
  std::string sample_hash;  ///< hex xxh3 of the texts that the prompt is made of; may be empty
  std::string prompt_hash;  ///< hex xxh3 of the prompt's token ids
  int64_t prompt_tokens = 0;
  /// Tokens that the text lost from its middle to fit `cut_to` together with the reply (Sample).
  int64_t cut_tokens = 0, cut_to = 0;
  std::string reply;
  std::vector<std::string> expected;
  double score = 0;  ///< 0..1; for metric "nll" the mean negative log-likelihood, nats per token
  std::string metric = "score";  ///< "score" (higher is better) or "nll" (lower is better)
  /// nll: tokens of the text before the stretch that this record is the mean of (`reply_tokens` of
  /// them); stretches of one text share `group`. Each has an id of its own ("emma@4096").
  std::optional<int64_t> position;
  int64_t reply_tokens = 0;
  double first_token_seconds = 0;
  double prefill_seconds = 0;
  double decode_tokens_per_second = 0;
  int64_t kv_bytes = 0;    ///< after the prompt
  double pairs_share = 1;  ///< attention pairs computed, of those of dense attention
  double attention_seconds = 0;
  /// Per layer, the share of the answer's tokens that the reply's rows could see
  /// (eval/answer_recall.h); empty where that is not known.
  std::vector<double> recall;
  /// Place of the answer's passage among those that the reply drew on, 1 the first; 0: not among
  /// them (source_rank() in eval/ask.cc). None where it was not asked, the answer is not in the
  /// text or the method moves its keys.
  std::optional<int64_t> source_rank;
  std::string error;  ///< why there is no reply; empty when there is one (score 0 then)

  /// False for the second and further stretches of a text: the first one stands for its answer.
  bool begins_answer() const { return position.value_or(0) == 0; }
  /// The sample's id: `id` without the stretch's position.
  std::string sample_id() const;
  /// The cell's fields as one text.
  std::string key() const;
  /// The same without the method: records that agree in it answer one prompt.
  std::string prompt_key() const;
};

/// How many answers the records are: all stretches of one predicted text count as one answer.
int64_t count_answers(std::span<const Record> records);

/// One line of JSON without the newline, and back. from_json throws UserError (names the key).
std::string to_json(const Record& record);
Record record_from_json(const std::string& line);

}  // namespace longhaul
