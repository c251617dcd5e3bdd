#pragma once
// Merges shards into one run. `longhaul eval --shard 1/4` runs only a part of the samples, which is
// called a shard.

#include <filesystem>
#include <span>
#include <vector>

#include "report/run_folder.h"

namespace longhaul {

/// Returns whether the run is a shard.
bool is_shard(const RunFolder& run);

/// Returns the run that consists of the given shards. Its records are sorted by length, task,
/// sample, opening and method, so that they do not depend on the order of `runs`. Throws UserError
/// that names the folder if a run is not a shard or is not finished, if its settings or its build
/// differ from those of the first run, if a shard or a record occurs twice, or if a shard is
/// missing. The shards may belong to several runs with different lengths, tasks or methods, if all
/// shards of each of these runs are given.
RunFolder merge_shards(std::vector<RunFolder> runs);

/// Writes run.json and samples.jsonl to a new folder. Throws UserError if the folder already
/// contains a run.
void write_run_folder(const RunFolder& run, const std::filesystem::path& folder);

}  // namespace longhaul
