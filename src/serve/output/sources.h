#pragma once
// The passages that replies draw on, for `"sources": true` in a request.

#include <span>
#include <utility>
#include <vector>

#include "serve/api/request.h"

namespace longhaul::serve {

/// Prepares a request that asks for sources: the texts of its messages.
void request_sources(const Json& messages, GenerationRequest& request);

/// Members "sources", "rests_on_a_passage" and "sentences" of the reply's report. With several
/// choices they are those of the first one. `watched`: replies with the index of their choice.
Json sources_json(const ServedModel& model, const GenerationRequest& request,
                  std::span<const int32_t> prompt,
                  std::span<const std::pair<int, WatchedReply>> watched);

}  // namespace longhaul::serve
