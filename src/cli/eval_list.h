#pragma once
// longhaul eval --list: every task with its scoring rule and its source.

namespace longhaul {

/// Prints them as JSON or as text. Returns the exit code.
int list_tasks(bool json);

}  // namespace longhaul
