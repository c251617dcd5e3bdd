#pragma once
// Reads and writes the members of requests and replies that concern the prefix cache.

#include <vector>

#include "serve/api/field_reader.h"
#include "serve/scheduler/job.h"

namespace longhaul::serve {

/// Reads the members `cache_salt` and `longhaul.cache_seconds` into the job. Throws ApiError if one
/// is invalid.
void read_cache_fields(const FieldReader& fields, Job& job);

/// Returns the position of each message in `text`, which is the conversation rendered with the chat
/// template. If `tools` is true, the text also contains definitions of tools, and the result has a
/// part for them.
std::vector<PromptPart> parts_of(std::string_view text, const Json& messages, bool tools);

/// Returns the `cache` object of a reply.
Json cache_json(const CacheReport& report);

}  // namespace longhaul::serve
