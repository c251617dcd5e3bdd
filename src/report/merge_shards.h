#pragma once
// Merges the shards of an evaluation (`longhaul eval --shard 1/4`) into one run.

#include <filesystem>
#include <span>
#include <vector>

#include "report/run_folder.h"

namespace longhaul {

/// Returns whether the run contains only a part of the samples.
bool is_shard(const RunFolder& run);

/// Returns the run of which the given runs are the parts. Its records are in a fixed order (length,
/// task, sample, opening, method), which does not depend on the order of the shards. Throws
/// UserError that names the folder if a run is not a shard or is not finished, if its settings or
/// its build differ from those of the first run, if a shard or a record occurs twice, or if a shard
/// is missing. Shards with different lengths, tasks or methods are merged if each of these runs is
/// complete.
RunFolder merge_shards(std::vector<RunFolder> runs);

/// Writes run.json and samples.jsonl to a new folder. Throws UserError if the folder already
/// contains a run.
void write_run_folder(const RunFolder& run, const std::filesystem::path& folder);

}  // namespace longhaul
