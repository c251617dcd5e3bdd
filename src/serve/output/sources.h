#pragma once
// Reports the passages on which replies are based, for requests with `"sources": true`.

#include <span>
#include <utility>
#include <vector>

#include "serve/api/request.h"

namespace longhaul::serve {

/// Prepares a request for sources. Stores the texts of its messages.
void request_sources(const Json& messages, GenerationRequest& request);

/// Returns the members "sources", "rests_on_a_passage" and "sentences" of the reply's report. If
/// there are several choices, these members describe the first one. `watched` has the watched
/// replies with the index of their choice.
Json sources_json(const ServedModel& model, const GenerationRequest& request,
                  std::span<const int32_t> prompt,
                  std::span<const std::pair<int, WatchedReply>> watched);

}  // namespace longhaul::serve
