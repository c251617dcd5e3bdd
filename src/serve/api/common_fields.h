#pragma once
// Reads the members that all APIs share: sampling, the end of replies, and Longhaul's own members.
// A job is one prompt with its replies (serve/scheduler/job.h).

#include "serve/api/field_reader.h"
#include "serve/api/request.h"

namespace longhaul::serve {

/// Returns the names of the members that read_common() reads.
std::vector<std::string_view> common_members();

/// Fills in `request` and `job`, except for the prompt and the members that depend on the prompt's
/// length. `key` is the name of the API key.
void read_common(const ServedModel& model, const http::HttpRequest& http, const Json& body,
                 const std::string& key, GenerationRequest& request, Job& job);

/// Does the first part of read_common(), for APIs whose members have other names. The function sets
/// the model, the attention method, the key, the conversation and the server's defaults. A header
/// of the request takes precedence over `conversation`.
void begin_job(const ServedModel& model, const http::HttpRequest& http, const FieldReader& fields,
               const std::string& key, const std::string& conversation, GenerationRequest& request,
               Job& job);
/// Sets the seed of the job. If `seed` is empty, a random one is drawn and reported, so that the
/// reply can be reproduced.
void settle_seed(std::optional<int64_t> seed, GenerationRequest& request, Job& job);
/// Sets what depends on the length of the prompt: the token limit of a reply without its own limit,
/// and a warning.
void settle_length(const ServedModel& model, GenerationRequest& request, Job& job);

/// Returns the strings of "stop", which is a string or a list of at most 16 strings.
std::vector<std::string> stop_texts(const Json* value, const std::string& name);

/// Throws ApiError that names the member if a request has a member that is not supported.
void refuse_unsupported(const ServedModel& model, const FieldReader& fields);

}  // namespace longhaul::serve
