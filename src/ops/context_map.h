#pragma once
// The attention maps of blocks (Ltri-LLM, arXiv:2412.04757, 3.2): what every token paid the earlier
// tokens of its own block, kept row by row until the block leaves the remainder of its context and
// is divided into spans.

#include "ops/context_split.h"
#include "ops/sliding_rows.h"
#include "ops/window_rows.h"

namespace longhaul {

/// Of one layer.
class ContextMap {
 public:
  explicit ContextMap(const ContextSizes& sizes) : sizes_(sizes), map_(sizes.block) {}

  /// Adds rows that follow those it has.
  void add(const WindowRows& rows);
  /// The map of the block of tokens [first, first + block), [block, block], where the context had
  /// `tokens` tokens before the rows that were added last. Valid until drop().
  View<const float> of(int64_t first, int64_t tokens);
  /// Forgets the blocks that leave the remainder while a context of `before` tokens grows to
  /// `after`.
  void drop(Queue& queue, int64_t before, int64_t after);

  void archive(Archive& archive) { map_.archive(archive); }
  /// Whether it is of a context of `tokens` tokens.
  bool fits(int64_t tokens) const { return map_.numbers() == tokens_of(tokens) * sizes_.block; }

 private:
  int64_t first_token(int64_t tokens) const;
  int64_t tokens_of(int64_t tokens) const;

  ContextSizes sizes_;
  SlidingRows map_;  ///< [tokens from first_token() on, block]
  std::vector<KeySegment> segments_;
};

/// The map of `count` of the rows, from `first` on, among themselves, [count, count]. The result
/// lives in `memory`.
View<const float> map_of_rows(const WindowRows& rows, int first, int count, Array<float>& memory,
                              std::vector<KeySegment>& segments);

}  // namespace longhaul
