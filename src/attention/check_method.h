#pragma once
// What a method refuses, refused before any work: a harness that runs several methods, or one for
// hours, asks this of each of them first.

#include "attention/method_spec.h"

namespace longhaul {

/// Makes the method for the model and has it plan `prompt`, one that it will be given, without
/// reading any of it. Throws the UserError that a session with these settings would: options and
/// files that do not fit the model, a type in which rows cannot be kept, a prompt that is refused
/// (no instruction, too long). Longer prompts may still be. prompt.chunk = 0: as the engine does by
/// itself.
void check_method(const MethodSpec& method, const ModelShape& shape, DType kv_type,
                  PromptFacts prompt);

}  // namespace longhaul
