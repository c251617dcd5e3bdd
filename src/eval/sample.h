#pragma once
// A sample is a question about a text with its expected answers. Tasks make samples, and the runner
// runs them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

/// A message of a conversation before the question.
struct SampleTurn {
  bool assistant = false;  ///< false: the user's message
  std::string content;
};

struct Sample {
  std::string id;       ///< unique within (task, length): "7", the user's own id, ...
  std::string group;    ///< category for tables; may be empty
  std::string context;  ///< the document; empty for a bare question
  std::string question;
  /// The reply's first words, placed after the chat template's assistant mark when openings are on
  /// ("The special magic number for K mentioned in the provided text is"). May be empty.
  std::string opening;
  /// Text before the opening in bare text, which has no assistant mark.
  std::string before_opening = " ";
  std::string system;             ///< system message; may be empty
  std::vector<SampleTurn> turns;  ///< between the system message and the question
  /// If true, the context stands in the first message, before all turns, and is read as a prompt of
  /// its own. Methods that evict then do not know the question.
  bool context_first = false;
  bool chat = true;              ///< false: bare text, without a chat template
  std::string separator = "\n";  ///< between context and question
  std::vector<std::string> answers;
  std::vector<std::string> choices;  ///< options for answers, for rules that need them
  /// Rule for scoring a reply in 0..1: a name of score_rules() in scorers.h.
  std::string rule = "contains-all";
  int max_tokens = 32;  ///< for the reply
  std::vector<std::string> stop;
  std::optional<double> depth;  ///< 0..1: location of the answer in the context
  /// Tokens removed from the context's middle so that prompt and reply fit `cut_to`; both 0 if it
  /// is whole.
  int64_t cut_tokens = 0, cut_to = 0;
  /// If true, there is no question. The tokens of the context are predicted and scored by position
  /// (metric nll).
  bool perplexity = false;
  /// If true, the previous or next sample has the same context, and both can share its prefill.
  bool shares_context = false;
};

}  // namespace longhaul
