#pragma once
// FastGen's hybrid policies (Ge et al. 2023, arXiv:2310.01801). A policy, here called a rule,
// determines which stored rows of a KV head's list are kept. A list holds the stored rows (keys and
// values) of one KV head. Each list uses the rule that keeps the fewest rows, among those whose
// kept rows received enough of the attention of a prompt.

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/choose/row_tokens.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// The list of a KV head, and the attention that its rows have received since the last prompt
/// began. Each query row of each query head distributes attention probabilities with sum 1 over the
/// stored rows.
struct JudgedList {
  int64_t rows = 0;
  RowTokens tokens;
  /// Class of every token in the context (kOrdinary, ...). Tokens beyond the end of the array are
  /// kOrdinary.
  View<const uint8_t> classes;
  View<const float> attention;  ///< per row: sum of the attention probabilities that it received
  /// Per row: the same sum, but only over the query rows for which the row is one of the last
  /// HybridRules::window_rows() rows.
  View<const float> recent;
  int64_t begin = 0;  ///< first token of the most recent prompt
  int64_t end = 0;    ///< number of tokens in the context
  int heads = 0;      ///< number of query heads that attend to the list
  int rule = -1;      ///< the list's HybridRules::Rule; negative: not yet determined

  enum Class : uint8_t { kOrdinary, kSpecial, kPunctuation };
};

/// Buffers that are reused between calls.
struct JudgedRows {
  Array<int32_t> rows, verdicts;
  Array<uint8_t> flags;
  Array<float> average;
  RowSelection heavy;
};

struct HybridRules {
  /// The rules, in ascending order of the number of kept rows. Each rule keeps all rows that the
  /// previous rule keeps.
  enum Rule : uint8_t { kSpecial, kPunctuation, kHeavy, kWindow, kFull };

  double threshold = 0;  ///< fraction of the attention that a rule's kept rows must have received
  /// Numbers of rows that kHeavy and kWindow add, as fractions of the number of tokens in the
  /// context.
  double heavy = 0, window = 0;
  int64_t global = 0;  ///< number of first tokens, which every rule keeps

  /// Returns the number of last rows that kWindow keeps in a context of `tokens` tokens.
  int64_t window_rows(int64_t tokens) const;

  /// Returns the number of rows that kHeavy adds in a context of `tokens` tokens.
  int64_t heavy_rows(int64_t tokens) const;
  /// Returns the sum of attention probabilities that the kept rows of a list must have received.
  double enough(const JudgedList& list) const;

  struct Verdict {
    Rule rule = kFull;
    int64_t rows = 0;  ///< number of kept rows
  };
  /// Returns the rule and the number of kept rows of every list. If a list's rule is not yet
  /// determined, it becomes the first rule whose kept rows received enough(), or kFull if there is
  /// none. Waits for the queue once for all lists.
  std::vector<Verdict> judge(Queue& queue, std::span<const JudgedList> lists,
                             JudgedRows& memory) const;

  /// Returns the rows that each list keeps, in ascending order. counts[l] is their number
  /// (Verdict::rows). The rules of the lists must be determined and must not be kFull. All rules
  /// keep the first `global` tokens and the special tokens. All except kSpecial also keep
  /// punctuation. kHeavy and kWindow also keep heavy_rows() further rows: those with the highest
  /// average attention. The average is over the prompt's query rows that could see the row. kWindow
  /// also keeps the last window_rows() rows. The result refers to `memory` and is valid until the
  /// next call.
  std::vector<RowList> kept(Queue& queue, std::span<const JudgedList> lists,
                            std::span<const int64_t> counts, JudgedRows& memory) const;
};

/// Device version of judge(). Writes the rule and the number of kept rows of each list to
/// `verdicts` [lists, 2].
inline const DeviceOperation<bool(const HybridRules&, std::span<const JudgedList>,
                                  View<int32_t> verdicts)>
    kJudgeRules;
/// Device version of kept(). Writes the kept rows of each list to rows[l], whose size is the number
/// of kept rows. A device that implements kJudgeRules also implements this operation.
inline const DeviceOperation<bool(const HybridRules&, std::span<const JudgedList>,
                                  std::span<const View<int32_t>> rows)>
    kListRules;

}  // namespace longhaul
