#pragma once
// The token numbers of the rows of a list. A list is the stored rows of one KV head. After
// evictions, token numbers differ from row numbers.

#include "base/host_stage.h"

namespace longhaul {

/// Row i holds token listed[i] if i < listed.size(), and otherwise token i + behind.
struct RowTokens {
  View<const int32_t> listed;
  int64_t behind = 0;
};

/// Returns the token numbers in host memory.
inline RowTokens on_host(HostStage& stage, const RowTokens& tokens) {
  return {stage(tokens.listed), tokens.behind};
}

/// Returns the token number of a row. `tokens` must be in host memory.
inline int64_t token_of(const RowTokens& tokens, int64_t row) {
  return row < tokens.listed.size() ? host(tokens.listed)[static_cast<size_t>(row)]
                                    : row + tokens.behind;
}

}  // namespace longhaul
