#pragma once
// FastGen's hybrid policies (Ge et al. 2023, arXiv:2310.01801): which rows of a KV head's list each
// of them keeps, and the cheapest one that still holds enough of the attention of a prompt's rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/choose/row_tokens.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// The list of a KV head, and what the rows of the text paid it since the last prompt began. A row
/// of the text pays 1 with every query head.
struct JudgedList {
  int64_t rows = 0;
  RowTokens tokens;
  View<const uint8_t> classes;  ///< of every token: kOrdinary and so on; beyond its end kOrdinary
  View<const float> attention;  ///< of every row: what it got
  View<const float> recent;     ///< of every row: what it got from rows in whose window it was
  int64_t begin = 0;            ///< first token of the last prompt
  int64_t end = 0;              ///< tokens of the context
  int heads = 0;                ///< query heads that pay
  int rule = -1;                ///< HybridRules::Rule; below 0: to be found

  enum Class : uint8_t { kOrdinary, kSpecial, kPunctuation };
};

/// Memory of judgements, reused from call to call.
struct JudgedRows {
  Array<int32_t> rows, verdicts;
  Array<uint8_t> flags;
  Array<float> average;
  RowSelection heavy;
};

struct HybridRules {
  /// Each adds to what the one before keeps.
  enum Rule : uint8_t { kSpecial, kPunctuation, kHeavy, kWindow, kFull };

  double threshold = 0;          ///< share of the attention that a rule must hold
  double heavy = 0, window = 0;  ///< shares of the context's tokens
  int64_t global = 0;            ///< first tokens, in every rule

  /// Rows that kWindow keeps of a context of so many tokens, the last ones.
  int64_t window_rows(int64_t tokens) const;

  /// Rows that kHeavy adds in a context of so many tokens.
  int64_t heavy_rows(int64_t tokens) const;
  /// What the rows of the rule that is looked for must have been paid.
  double enough(const JudgedList& list) const;

  struct Verdict {
    Rule rule = kFull;
    int64_t rows = 0;  ///< that stay
  };
  /// Of every list: its rule, or where that is to be found the first whose rows hold `threshold` of
  /// what the prompt's rows paid; kFull, if none does. Waits for the queue, once for all lists.
  std::vector<Verdict> judge(Queue& queue, std::span<const JudgedList> lists,
                             JudgedRows& memory) const;

  /// Rows of lists with rules other than kFull that stay, as many of each as `counts` says,
  /// ascending: those of the first tokens and of the classes that the rule names; from kHeavy on
  /// also the share `heavy` of all tokens with most attention per row that could see them; with
  /// kWindow also the last ones. In `memory` until the next call.
  std::vector<RowList> kept(Queue& queue, std::span<const JudgedList> lists,
                            std::span<const int64_t> counts, JudgedRows& memory) const;
};

}  // namespace longhaul
