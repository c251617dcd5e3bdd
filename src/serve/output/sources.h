#pragma once
// Reports the passages of the prompt on which a reply is based. A request demands this by
// `"sources": true`.

#include <span>
#include <utility>
#include <vector>

#include "serve/api/request.h"

namespace longhaul::serve {

/// Makes the reply report its sources. Stores the texts of `messages` in the request.
void request_sources(const Json& messages, GenerationRequest& request);

/// Returns the members "sources", "rests_on_a_passage" and "sentences" of the reply's report. If
/// there are several choices, these members describe the first one. `watched` has the replies whose
/// attended keys were recorded, each with the number of its choice.
Json sources_json(const ServedModel& model, const GenerationRequest& request,
                  std::span<const int32_t> prompt,
                  std::span<const std::pair<int, WatchedReply>> watched);

}  // namespace longhaul::serve
