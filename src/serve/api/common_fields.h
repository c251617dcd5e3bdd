#pragma once
// Reads the members that the APIs share: sampling options, limits and stop strings of replies, and
// Longhaul's own members. A job is one prompt with its replies (serve/scheduler/job.h).

#include "serve/api/field_reader.h"
#include "serve/api/request.h"

namespace longhaul::serve {

/// Returns the names of the members that read_common() reads.
std::vector<std::string_view> common_members();

/// Sets the members of `request` and `job` from the body, except for the prompt and the members
/// that depend on the prompt's length. `key` is the name of the API key.
void read_common(const ServedModel& model, const http::HttpRequest& http, const Json& body,
                 const std::string& key, GenerationRequest& request, Job& job);

/// Does the first part of read_common(), for APIs whose members have other names. The function sets
/// the model, the attention method, the key, the conversation and the server's defaults. The id of
/// the conversation is `conversation`, unless the request has a header X-Conversation-Id or
/// X-Session-Id.
void begin_job(const ServedModel& model, const http::HttpRequest& http, const FieldReader& fields,
               const std::string& key, const std::string& conversation, GenerationRequest& request,
               Job& job);
/// Sets the seed of the job, unless sampling is greedy. If `seed` is empty or negative, a random
/// seed is drawn. The reply reports the seed, so that the client can reproduce the reply.
void settle_seed(std::optional<int64_t> seed, GenerationRequest& request, Job& job);
/// Sets the members that depend on the length of the prompt: the token limit of a reply whose
/// request has no limit, and a warning if the prompt is longer than the context for which the model
/// was trained.
void settle_length(const ServedModel& model, GenerationRequest& request, Job& job);

/// Returns the stop strings. `value` is the member "stop" of the request: a string, or a list of at
/// most 16 strings.
std::vector<std::string> stop_texts(const Json* value, const std::string& name);

/// Throws ApiError that names the member if a request has a member that is not supported.
void refuse_unsupported(const ServedModel& model, const FieldReader& fields);

}  // namespace longhaul::serve
