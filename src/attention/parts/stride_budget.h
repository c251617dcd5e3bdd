#pragma once
// Forgetting while a prompt is read, as EasyKV does it (the code of RoCo, arXiv:2402.06262): the
// prompt's first tokens are read densely, then every `stride` tokens as many rows leave every list,
// so that it returns to one length. Nothing leaves while generating.

#include "attention/registry.h"

namespace longhaul {

struct StrideBudget {
  enum class Positions : uint8_t { kAbsolute, kCache };
  int64_t budget = 2048;          ///< rows of a list; up to budget + stride after a prompt
  int64_t stride = 256;           ///< tokens between two cuts
  int64_t sink = 4;               ///< first rows that never leave
  std::optional<int64_t> recent;  ///< last rows that stay
  Positions positions = Positions::kAbsolute;

  int64_t recent_rows() const { return recent.value_or((budget + stride) / 10); }
  Plan stride_plan() const {
    return {.keep = {.when = When::kStride,
                     .budget = budget,
                     .sink = sink,
                     .recent = recent_rows(),
                     .stride = stride,
                     .whole_strides = true},
            .see = {.place = positions == Positions::kCache ? KeyPlace::kList : KeyPlace::kText}};
  }

  static constexpr std::string_view kStride =
      "prompt tokens between two cuts; a head keeps up to budget + stride";
  static constexpr std::string_view kPositions =
      "where keys stand: at their place in the text, or in the kept list (no bound then)";
};

}  // namespace longhaul
