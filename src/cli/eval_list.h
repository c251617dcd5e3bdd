#pragma once
// longhaul eval --list: every task with its rule of scoring and its source.

namespace longhaul {

/// Prints them, as JSON or as text; returns the exit code.
int list_tasks(bool json);

}  // namespace longhaul
