#pragma once
// Reads the user's own samples, one JSON object per line.

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "eval/run_settings.h"
#include "eval/sample.h"

namespace longhaul {

/// Parses samples, one JSON object per line. An object has these keys:
/// - "id": text or integer, unique; optional, the default is the number of the line
/// - the question: "prompt"; or "messages", a list of {"role", "content"} that ends with a message
///   of the user; or "context" and "question"
/// - "answers" or "answer": one text or several
/// - optional: "match" (contains, contains_all, exact, regex, f1, rouge, rouge1, rouge2, edit,
///   number), "max_tokens", "group", "system", "opening", "stop", "depth" (0 to 1)
///
/// Empty lines are skipped. Throws UserError for other keys or values, with a message such as "line
/// N: key ...".
std::vector<Sample> parse_jsonl(std::string_view text);

/// Returns a task "jsonl:NAME" whose samples are those of a file, which may be compressed with
/// gzip. Throws a UserError that names the file and the line if a line is invalid.
PlannedTask jsonl_task(const std::filesystem::path& file);

}  // namespace longhaul
