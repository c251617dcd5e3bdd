#pragma once
// StrideBudget contains options and rules of methods that evict rows during prefill as EasyKV does
// (the published code of RoCo, arXiv:2402.06262). A list holds the stored rows of one KV head. The
// first tokens of a prompt are processed without evictions. Then, after every `stride` tokens,
// `stride` rows are evicted from every list, so that each list returns to the same length. No rows
// are evicted during decode.

#include "attention/registry.h"

namespace longhaul {

struct StrideBudget {
  enum class Positions : uint8_t { kAbsolute, kCache };
  /// Number of rows of a list after an eviction. At the end of a prompt, a list may have up to
  /// budget + stride rows.
  int64_t budget = 2048;
  int64_t stride = 256;  ///< tokens between two evictions
  int64_t sink = 4;      ///< number of first rows that are never evicted
  /// Number of last rows that each eviction keeps. If empty, it is a tenth of budget + stride.
  std::optional<int64_t> recent;
  Positions positions = Positions::kAbsolute;

  int64_t recent_rows() const { return recent.value_or((budget + stride) / 10); }
  MethodPlan stride_plan() const {
    return {.place = positions == Positions::kCache ? KeyPlace::kCache : KeyPlace::kAbsolute,
            .when = When::kStride,
            .stride = stride,
            .whole_strides = true};
  }
  ListPlan list_plan() const {
    return {.keep = {.budget = budget, .sink = sink, .recent = recent_rows()}};
  }

  static constexpr std::string_view kStride =
      "prompt tokens between two evictions; a head keeps up to budget + stride";
  static constexpr std::string_view kPositions =
      "where keys stand: at their place in the text, or in the kept list (no bound then)";
};

}  // namespace longhaul
