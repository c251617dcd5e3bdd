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
  /// Throws UserError where sinks and recent rows do not fit. `key` is the method's name for the
  /// budget.
  void check(std::string_view method, std::string_view key = "budget") const;
  Plan plan() const;

  static constexpr std::string_view kStride =
      "prompt tokens between two cuts; a head keeps up to budget + stride";
  static constexpr std::string_view kPositions =
      "where keys stand: at their place in the text, or in the kept list (no bound then)";
};

}  // namespace longhaul
