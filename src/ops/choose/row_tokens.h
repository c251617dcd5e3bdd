#pragma once
// Which tokens the rows of a list are, where rows before them have left it.

#include "base/host_stage.h"

namespace longhaul {

/// Row i is token listed[i]; behind those that are listed, token i + behind.
struct RowTokens {
  View<const int32_t> listed;
  int64_t behind = 0;
};

/// Tokens wherever they are, for the host to read.
inline RowTokens on_host(HostStage& stage, const RowTokens& tokens) {
  return {stage(tokens.listed), tokens.behind};
}

/// Of host memory.
inline int64_t token_of(const RowTokens& tokens, int64_t row) {
  return row < tokens.listed.size() ? host(tokens.listed)[static_cast<size_t>(row)]
                                    : row + tokens.behind;
}

}  // namespace longhaul
