#pragma once
// Members that hold a reply to a form: response_format, json_schema, grammar, structured_outputs.

#include <optional>

#include "grammar/constraint.h"
#include "serve/api/field_reader.h"
#include "serve/served_model.h"

namespace longhaul::serve {

/// Empty if the reply is free. Throws ApiError that names the member, for malformed forms, for
/// keywords that are not supported, and for several forms at once.
std::optional<grammar::Constraint> read_reply_form(const ServedModel& model,
                                                   const FieldReader& fields);

}  // namespace longhaul::serve
