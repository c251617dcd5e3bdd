#pragma once
// Limits of the control groups of this process on Linux (versions 1 and 2, also both at once). The
// kernel enforces the limits of the process's own group and of every group above it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

/// The folder of a control group.
struct ControlGroup {
  std::filesystem::path folder;
  bool v2 = false;
};
/// Returns the folders of the groups in which `controller` (memory or pids) limits this process,
/// innermost first. `proc` is the folder with the files `cgroup` and `mountinfo` of this process
/// (/proc/self).
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::filesystem::path& proc = "/proc/self");

/// Returns the bytes left below the limit of the tightest group, or nothing if no group has a
/// limit. In version 2, memory.high counts as a limit like memory.max. A process that exceeds
/// memory.high is not killed, but slowed down almost to a halt.
std::optional<size_t> control_group_room(const std::filesystem::path& proc = "/proc/self");

/// Returns the largest number of processes and threads that the tightest group allows, or nothing
/// without a limit.
std::optional<int64_t> control_group_most_threads(const std::filesystem::path& proc = "/proc/self");

/// Returns the bytes of a control group that the kernel cannot reclaim. `current` is the usage of
/// the group, which includes the page cache. The kernel drops the page cache before it refuses
/// memory, even pages that were read several times (such as mapped weights read by an earlier run
/// in the group). `stat` is the text of memory.stat, which contains the size of the page cache:
/// active_file and inactive_file, or in version 1 total_active_file and total_inactive_file. These
/// sizes do not include files in a tmpfs.
size_t held_by_control_group(size_t current, const std::string& stat, bool v2);

}  // namespace longhaul
