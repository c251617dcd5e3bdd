#pragma once
// FastGen's hybrid policies (Ge et al. 2023, arXiv:2310.01801). A policy (rule) determines which
// rows of a KV head's list are kept. Each list gets the cheapest policy whose rows hold enough of
// the attention of a prompt.

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/choose/row_tokens.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// The list of a KV head, and the attention that its rows have received since the last prompt
/// began. Every query row contributes 1 per query head, distributed over the rows that it attends
/// to.
struct JudgedList {
  int64_t rows = 0;
  RowTokens tokens;
  /// Class of every token (kOrdinary etc.). Tokens beyond the end of the array are kOrdinary.
  View<const uint8_t> classes;
  View<const float> attention;  ///< per row: received attention
  /// Per row: the attention that it received from query rows whose window contains it.
  View<const float> recent;
  int64_t begin = 0;  ///< first token of the most recent prompt
  int64_t end = 0;    ///< tokens in the context
  int heads = 0;      ///< number of query heads of the list
  int rule = -1;      ///< HybridRules::Rule; negative: to be determined

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
  /// The rules in the order of their cost. Each rule keeps all rows of the previous rule.
  enum Rule : uint8_t { kSpecial, kPunctuation, kHeavy, kWindow, kFull };

  double threshold = 0;  ///< share of the attention that the rows of a rule must have received
  /// Numbers of rows that kHeavy and kWindow add, as shares of the tokens in the context.
  double heavy = 0, window = 0;
  int64_t global = 0;  ///< number of first tokens, which every rule keeps

  /// Returns the number of last rows that kWindow keeps in a context of `tokens` tokens.
  int64_t window_rows(int64_t tokens) const;

  /// Returns the number of rows that kHeavy adds in a context of `tokens` tokens.
  int64_t heavy_rows(int64_t tokens) const;
  /// Returns the attention that the rows of the chosen rule must have received.
  double enough(const JudgedList& list) const;

  struct Verdict {
    Rule rule = kFull;
    int64_t rows = 0;  ///< number of kept rows
  };
  /// Returns a verdict for every list: its rule and number of kept rows. If the rule is
  /// undetermined, it is the first rule whose rows hold the share `threshold` of the attention of
  /// the prompt's rows, or kFull if there is none. Waits for the queue once for all lists.
  std::vector<Verdict> judge(Queue& queue, std::span<const JudgedList> lists,
                             JudgedRows& memory) const;

  /// Returns the kept rows of lists, in ascending order. counts[l] is the number of rows of list l.
  /// The rules of the lists must be known and differ from kFull. All rules keep the first tokens
  /// and the token classes that the rule names. kHeavy and kWindow also keep heavy_rows() further
  /// rows: those with the highest average attention. The average is over the prompt's rows that
  /// could see the row. kWindow also keeps the last window_rows() rows. The result refers to
  /// `memory` and is valid until the next call.
  std::vector<RowList> kept(Queue& queue, std::span<const JudgedList> lists,
                            std::span<const int64_t> counts, JudgedRows& memory) const;
};

/// Writes the verdict on each list to `verdicts` [lists, 2]: the rule and the number of kept rows.
inline const DeviceOperation<bool(const HybridRules&, std::span<const JudgedList>,
                                  View<int32_t> verdicts)>
    kJudgeRules;
/// Writes the kept rows of lists with known rules to rows[l], which has exactly the right size. A
/// device that implements kJudgeRules also implements this operation.
inline const DeviceOperation<bool(const HybridRules&, std::span<const JudgedList>,
                                  std::span<const View<int32_t>> rows)>
    kListRules;

}  // namespace longhaul
