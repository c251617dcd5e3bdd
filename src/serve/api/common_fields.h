#pragma once
// Members that all APIs share: how tokens are drawn, where replies end, Longhaul's own.

#include "serve/api/field_reader.h"
#include "serve/api/request.h"

namespace longhaul::serve {

/// Names of the members that read_common() reads.
std::vector<std::string_view> common_members();

/// Fills request and job. `job.prompt` is there already.
void read_common(const ServedModel& model, const http::HttpRequest& http, const Json& body,
                 const std::string& key, GenerationRequest& request, Job& job);

/// "stop": a text or a list of at most 16.
std::vector<std::string> stop_texts(const Json* value, const std::string& name);

/// Members that cannot be honoured are refused by name.
void refuse_unsupported(const ServedModel& model, const FieldReader& fields);

}  // namespace longhaul::serve
