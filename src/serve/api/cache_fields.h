#pragma once
// The prefix cache in requests and replies.

#include <vector>

#include "serve/api/field_reader.h"
#include "serve/scheduler/job.h"

namespace longhaul::serve {

/// `cache_salt` and `longhaul.cache_seconds`. Throws ApiError.
void read_cache_fields(const FieldReader& fields, Job& job);

/// The places of the messages of a conversation in its rendered text.
std::vector<PromptPart> parts_of(std::string_view text, const Json& messages, bool tools);

/// The `cache` object of a reply.
Json cache_json(const CacheReport& report);

}  // namespace longhaul::serve
