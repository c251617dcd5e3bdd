#pragma once
// A Sample is a question about a text, with its expected answers. Tasks make samples (eval/task.h),
// and run_eval() runs them (eval/runner.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

/// A message of a conversation before the question.
struct SampleTurn {
  bool assistant = false;  ///< false: a message of the user
  std::string content;
};

struct Sample {
  std::string id;       ///< unique within (task, length): "7", the user's own id, ...
  std::string group;    ///< category for tables; may be empty
  std::string context;  ///< the document; empty for a bare question
  std::string question;
  /// The opening: first words of the reply, such as "The special magic number for K mentioned in
  /// the provided text is". If openings are on (Openings), the prompt ends with these words, after
  /// the mark with which the chat template begins the reply. It may be empty.
  std::string opening;
  /// Text between the question and the opening if the prompt is bare text.
  std::string before_opening = " ";
  std::string system;             ///< system message; may be empty
  std::vector<SampleTurn> turns;  ///< messages between the system message and the question
  /// If true, the context is in the first message, before all turns, and is prefilled separately. A
  /// method that evicts at the end of a prefill then evicts before it has processed the question.
  bool context_first = false;
  bool chat = true;              ///< false: bare text, without a chat template
  std::string separator = "\n";  ///< text between context and question
  std::vector<std::string> answers;
  /// All possible answers, for scoring rules such as multiple choice.
  std::vector<std::string> choices;
  /// Name of the scoring rule (score_rules() in scorers.h). A score is from 0 to 1.
  std::string rule = "contains-all";
  int max_tokens = 32;  ///< largest number of tokens of the reply
  std::vector<std::string> stop;
  /// Position of the answer in the context, from 0 (beginning) to 1 (end).
  std::optional<double> depth;
  /// Number of tokens that were removed from the middle of the context, so that prompt and reply
  /// fit in `cut_to` tokens. Both are 0 if nothing was removed.
  int64_t cut_tokens = 0, cut_to = 0;
  /// If true, there is no question. Instead, the tokens of the context are predicted, and the score
  /// is the negative log-likelihood by position (metric "nll").
  bool perplexity = false;
  /// If true, the previous or next sample has the same context, and both can share its prefill.
  bool shares_context = false;
};

}  // namespace longhaul
