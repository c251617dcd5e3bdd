#include "base/control_group.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNone = std::numeric_limits<size_t>::max();

/// The number in a file that contains only a number; `fallback` for "max" or a missing file.
size_t number_in(const fs::path& file, size_t fallback) {
  std::ifstream in(file);
  size_t value = 0;
  return in >> value ? value : fallback;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Whether a list "a,b,c" contains `name`.
bool lists(std::istringstream names, const std::string& name) {
  for (std::string one; std::getline(names, one, ',');) {
    if (one == name) return true;
  }
  return false;
}

/// A group in a hierarchy, from /proc/PID/cgroup.
struct Membership {
  std::string group;  // "/a/b"
  bool v2 = false;
};

/// Parses lines "4:memory:/a/b", and "0::/a/b" for version 2.
std::vector<Membership> memberships(const std::string& controller, const fs::path& proc) {
  std::vector<Membership> out;
  std::ifstream in(proc / "cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const bool v2 = names.empty();
    if (v2 || lists(std::istringstream(names), controller)) {
      out.push_back({line.substr(second + 1), v2});
    }
  }
  return out;
}

/// In mountinfo a blank is written as \040, like other bytes that could end a field.
std::string unescaped(const std::string& field) {
  std::string out;
  for (size_t i = 0; i < field.size(); ++i) {
    const std::string digits = field.substr(i + 1, 3);
    const bool escape = field[i] == '\\' && digits.size() == 3 &&
                        digits.find_first_not_of("01234567") == std::string::npos;
    out += escape ? static_cast<char>(std::stoi(digits, nullptr, 8)) : field[i];
    if (escape) i += 3;
  }
  return out;
}

struct Mount {
  std::string group;  // the mounted group: "/" or, in a container, its own
  fs::path folder;
};

/// Parses lines "35 31 0:32 ROOT FOLDER options [fields] - TYPE SOURCE SUPER-OPTIONS".
std::optional<Mount> mount_of(const std::string& controller, bool v2, const fs::path& proc) {
  std::ifstream in(proc / "mountinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line), back(line.substr(dash + 3));
    std::string id, parent, device, root, folder, type, source, options;
    front >> id >> parent >> device >> root >> folder;
    back >> type >> source >> options;
    const bool wanted =
        v2 ? type == "cgroup2" : type == "cgroup" && lists(std::istringstream(options), controller);
    if (wanted) return Mount{unescaped(root), unescaped(folder)};
  }
  return std::nullopt;
}

/// A group's path relative to the mounted one; the mounted one itself if the group is outside it.
fs::path below(const std::string& group, const std::string& mounted) {
  if (mounted == "/") return fs::path(group).relative_path();
  if (group == mounted) return {};
  if (group.starts_with(mounted + "/")) return group.substr(mounted.size() + 1);
  return {};
}

/// One group's limit minus its usage; kNone without a limit.
size_t room_in(const ControlGroup& group) {
  const fs::path& folder = group.folder;
  const size_t limit = group.v2 ? std::min(number_in(folder / "memory.max", kNone),
                                           number_in(folder / "memory.high", kNone))
                                : number_in(folder / "memory.limit_in_bytes", kNone);
  if (limit == kNone) return kNone;
  const size_t current =
      number_in(folder / (group.v2 ? "memory.current" : "memory.usage_in_bytes"), 0);
  const size_t held = held_by_control_group(current, text_of(folder / "memory.stat"), group.v2);
  return limit > held ? limit - held : 0;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const fs::path& proc) {
  std::vector<ControlGroup> out;
  for (const Membership& membership : memberships(controller, proc)) {
    const std::optional<Mount> mount = mount_of(controller, membership.v2, proc);
    if (!mount) continue;
    fs::path group = below(membership.group, mount->group);
    if (std::find(group.begin(), group.end(), "..") != group.end()) group.clear();
    for (; !group.empty(); group = group.parent_path()) {
      out.push_back({mount->folder / group, membership.v2});
    }
    out.push_back({mount->folder, membership.v2});
  }
  return out;
}

std::optional<size_t> control_group_room(const fs::path& proc) {
  size_t least = kNone;
  for (const ControlGroup& group : control_groups("memory", proc)) {
    least = std::min(least, room_in(group));
  }
  // Version 1 writes "no limit" as the largest multiple of a page below 2^63.
  return least < (size_t{1} << 62) ? std::optional(least) : std::nullopt;
}

std::optional<int64_t> control_group_most_threads(const fs::path& proc) {
  size_t least = kNone;
  for (const ControlGroup& group : control_groups("pids", proc)) {
    least = std::min(least, number_in(group.folder / "pids.max", kNone));
  }
  return least == kNone ? std::nullopt : std::optional(static_cast<int64_t>(least));
}

size_t held_by_control_group(size_t current, const std::string& stat, bool v2) {
  std::istringstream lines(stat);
  const std::string prefix = v2 ? "" : "total_";
  size_t held = current;
  std::string key;
  for (size_t value = 0; lines >> key >> value;) {
    if (key != prefix + "active_file" && key != prefix + "inactive_file") continue;
    held -= std::min(held, value);
  }
  return held;
}

}  // namespace longhaul
