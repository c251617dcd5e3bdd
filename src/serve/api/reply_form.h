#pragma once
// Reads the members of a request that constrain the form of a reply: response_format, json_schema,
// grammar and structured_outputs.

#include <memory>
#include <optional>

#include "grammar/constraint.h"
#include "serve/api/field_reader.h"
#include "serve/served_model.h"

namespace longhaul::serve {

/// Returns the vocabulary of the served model in the form that grammars need. It is computed once
/// and then reused.
std::shared_ptr<const grammar::TokenTrie> vocabulary_of(const ServedModel& model);

/// Returns the constraint that `format` describes: {"type": "text"}, {"type": "json_object"}, or
/// {"type": "json_schema"} with "schema" or {"json_schema": {"schema": ...}}. The result is empty
/// for {"type": "text"}. `name` is the path of `format` in the request, so that error messages can
/// name it.
std::optional<grammar::Constraint> constraint_of_format(const ServedModel& model,
                                                        const Json& format,
                                                        const std::string& name);

/// Returns the constraint that the request sets for its reply, or nothing if the request sets none.
/// Throws ApiError that names the member if a constraint is malformed or has keywords that are not
/// supported, or if there are several constraints.
std::optional<grammar::Constraint> read_reply_form(const ServedModel& model,
                                                   const FieldReader& fields);

}  // namespace longhaul::serve
