#pragma once
// Reads the user's own cases, one JSON object per line.

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "eval/run_settings.h"
#include "eval/sample.h"

namespace longhaul {

/// Keys of a line: "id" (text or whole number, unique; the line's number without it); the question
/// ("prompt", or "messages" of "role" and "content" that end with the user's, or "context" and
/// "question"); "answers" or "answer" (a text or several); and optionally "match" (contains,
/// contains_all, exact, regex, f1, rouge, rouge1, rouge2, edit, number), "max_tokens", "group",
/// "system", "opening", "stop", "depth" (0..1). Empty lines are skipped. Throws UserError "line N:
/// key ..." for anything else.
std::vector<Sample> parse_jsonl(std::string_view text);

/// Returns a task "jsonl:NAME" with all samples of a file, which may be gzipped. Throws UserError
/// that names file and line.
PlannedTask jsonl_task(const std::filesystem::path& file);

}  // namespace longhaul
