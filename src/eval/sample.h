#pragma once
// One question about one text, with what a right reply holds: what every task produces and the
// runner asks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

/// A message of a conversation before the question.
struct SampleTurn {
  bool assistant = false;  ///< else the user's
  std::string content;
};

struct Sample {
  std::string id;       ///< unique within (task, length): "7", the user's own id, ...
  std::string group;    ///< what tables may split by; may be empty
  std::string context;  ///< the document; empty for a bare question
  std::string question;
  /// The reply's first words, put behind the chat template's assistant mark when openings are on
  /// ("The special magic number for K mentioned in the provided text is"). May be empty.
  std::string opening;
  /// Before the opening where no assistant mark stands between: in bare text.
  std::string before_opening = " ";
  std::string system;             ///< system message; may be empty
  std::vector<SampleTurn> turns;  ///< between the system message and the question
  bool chat = true;               ///< false: the bare text, without a chat template
  std::string separator = "\n";   ///< between context and question
  std::vector<std::string> answers;
  std::vector<std::string> choices;  ///< what answers are chosen from, for rules that need it
  /// How a reply becomes a score in 0..1: a name of score_rules() in scorers.h.
  std::string rule = "contains-all";
  int max_tokens = 32;  ///< of the reply
  std::vector<std::string> stop;
  std::optional<double> depth;  ///< 0..1: where in the context the answer lies
  /// Tokens that were taken out of the context's middle, so that prompt and reply fit `cut_to`;
  /// both 0 where it is whole.
  int64_t cut_tokens = 0, cut_to = 0;
  /// Nothing is asked: the context's own tokens are predicted, and scored by position (metric nll).
  bool perplexity = false;
};

}  // namespace longhaul
