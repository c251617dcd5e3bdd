#pragma once
// Reads and writes the members of requests and replies that concern the prefix cache.

#include <vector>

#include "serve/api/field_reader.h"
#include "serve/scheduler/job.h"

namespace longhaul::serve {

/// Reads `cache_salt` and `longhaul.cache_seconds` into the job. Throws ApiError.
void read_cache_fields(const FieldReader& fields, Job& job);

/// Returns where the messages of a conversation are in its rendered text.
std::vector<PromptPart> parts_of(std::string_view text, const Json& messages, bool tools);

/// Returns the `cache` object of a reply.
Json cache_json(const CacheReport& report);

}  // namespace longhaul::serve
