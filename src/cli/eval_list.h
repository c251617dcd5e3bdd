#pragma once
// Implements `longhaul eval --list`, which lists every task with its scoring rule and its source.

namespace longhaul {

/// Prints the list as JSON or as text. Returns the exit status.
int list_tasks(bool json);

}  // namespace longhaul
