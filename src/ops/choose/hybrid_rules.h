#pragma once
// FastGen's hybrid policies (Ge et al. 2023, arXiv:2310.01801): the rows of a KV head's list that
// each policy keeps, and the cheapest policy that covers enough of the attention of a prompt's
// rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/choose/row_tokens.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// The list of a KV head, with the attention that its rows received since the last prompt began.
/// Every row of the text distributes attention 1 per query head.
struct JudgedList {
  int64_t rows = 0;
  RowTokens tokens;
  /// class of every token (kOrdinary etc.); tokens beyond the end are kOrdinary
  View<const uint8_t> classes;
  View<const float> attention;  ///< per row: attention received
  /// per row: attention received from rows with this row in their window
  View<const float> recent;
  int64_t begin = 0;  ///< first token of the last prompt
  int64_t end = 0;    ///< tokens in the context
  int heads = 0;      ///< number of query heads that attend
  int rule = -1;      ///< HybridRules::Rule; below 0: to be determined

  enum Class : uint8_t { kOrdinary, kSpecial, kPunctuation };
};

/// Memory of the evaluation, reused from call to call.
struct JudgedRows {
  Array<int32_t> rows, verdicts;
  Array<uint8_t> flags;
  Array<float> average;
  RowSelection heavy;
};

struct HybridRules {
  /// Each rule keeps more rows than the one before.
  enum Rule : uint8_t { kSpecial, kPunctuation, kHeavy, kWindow, kFull };

  double threshold = 0;          ///< share of the attention that a rule must cover
  double heavy = 0, window = 0;  ///< shares of the context's tokens
  int64_t global = 0;            ///< first tokens, kept by every rule

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
  /// For every list, its rule or, if undetermined, the first rule whose rows hold the share
  /// `threshold` of the attention of the prompt's rows; kFull if there is none. Waits for the
  /// queue, once for all lists.
  std::vector<Verdict> judge(Queue& queue, std::span<const JudgedList> lists,
                             JudgedRows& memory) const;

  /// Kept rows of lists with rules other than kFull, ascending, `counts` of each. They are the
  /// first tokens and the classes named by the rule. From kHeavy on they include the share `heavy`
  /// of all tokens with most attention per row that could see them. With kWindow they include the
  /// last rows. Valid in `memory` until the next call.
  std::vector<RowList> kept(Queue& queue, std::span<const JudgedList> lists,
                            std::span<const int64_t> counts, JudgedRows& memory) const;
};

/// Writes the verdict on each list to `verdicts` [lists, 2]: rule and number of rows.
inline const DeviceOperation<bool(const HybridRules&, std::span<const JudgedList>,
                                  View<int32_t> verdicts)>
    kJudgeRules;
/// Writes the kept rows of lists with known rules to rows[l], which has exactly the right size. A
/// device that has kJudgeRules has this as well.
inline const DeviceOperation<bool(const HybridRules&, std::span<const JudgedList>,
                                  std::span<const View<int32_t>> rows)>
    kListRules;

}  // namespace longhaul
