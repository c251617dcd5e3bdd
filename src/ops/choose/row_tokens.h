#pragma once
// Token numbers of a list's rows, after evictions.

#include "base/host_stage.h"

namespace longhaul {

/// Row i is token listed[i]; rows after the listed ones are token i + behind.
struct RowTokens {
  View<const int32_t> listed;
  int64_t behind = 0;
};

/// Returns a copy that the host can read.
inline RowTokens on_host(HostStage& stage, const RowTokens& tokens) {
  return {stage(tokens.listed), tokens.behind};
}

/// For tokens in host memory.
inline int64_t token_of(const RowTokens& tokens, int64_t row) {
  return row < tokens.listed.size() ? host(tokens.listed)[static_cast<size_t>(row)]
                                    : row + tokens.behind;
}

}  // namespace longhaul
