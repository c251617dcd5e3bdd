#pragma once
// Members that all APIs share: how tokens are drawn, where replies end, Longhaul's own.

#include "serve/api/field_reader.h"
#include "serve/api/request.h"

namespace longhaul::serve {

/// Names of the members that read_common() reads.
std::vector<std::string_view> common_members();

/// Fills request and job, except for the prompt and what depends on its length.
void read_common(const ServedModel& model, const http::HttpRequest& http, const Json& body,
                 const std::string& key, GenerationRequest& request, Job& job);

/// The first part of read_common(), for APIs with other names of members: model, attention method,
/// key, conversation (which a header of the request replaces) and the server's defaults.
void begin_job(const ServedModel& model, const http::HttpRequest& http, const FieldReader& fields,
               const std::string& key, const std::string& conversation, GenerationRequest& request,
               Job& job);
/// Without a seed one is drawn, so that the reply can be made again.
void settle_seed(std::optional<int64_t> seed, GenerationRequest& request, Job& job);
/// Settles what depends on the prompt's length: the limit of an open reply, and a warning.
void settle_length(const ServedModel& model, GenerationRequest& request, Job& job);

/// "stop": a text or a list of at most 16.
std::vector<std::string> stop_texts(const Json* value, const std::string& name);

/// Members that cannot be honoured are refused by name.
void refuse_unsupported(const ServedModel& model, const FieldReader& fields);

}  // namespace longhaul::serve
