#pragma once
// Members that hold a reply to a form: response_format, json_schema, grammar, structured_outputs.

#include <memory>
#include <optional>

#include "grammar/constraint.h"
#include "serve/api/field_reader.h"
#include "serve/served_model.h"

namespace longhaul::serve {

std::shared_ptr<const grammar::TokenTrie> vocabulary_of(const ServedModel& model);

/// The form that `format` describes: {"type": "text"}, {"type": "json_object"}, or {"type":
/// "json_schema"} with "schema" or {"json_schema": {"schema": ...}}. Empty for a text. `name`: the
/// member in messages of errors.
std::optional<grammar::Constraint> constraint_of_format(const ServedModel& model,
                                                        const Json& format,
                                                        const std::string& name);

/// Empty if the reply is free. Throws ApiError that names the member, for malformed forms, for
/// keywords that are not supported, and for several forms at once.
std::optional<grammar::Constraint> read_reply_form(const ServedModel& model,
                                                   const FieldReader& fields);

}  // namespace longhaul::serve
