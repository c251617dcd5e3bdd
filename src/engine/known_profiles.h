#pragma once
// Finds the method profiles that are installed with the program. A profile contains options of one
// attention method for one model (attention/profile.h). The installed profiles contain options that
// were published for well-known models, such as the gates of KV heads for the method duo, or the
// sparse patterns of query heads for the method minference.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct KnownProfiles {
  std::string name;  ///< such as "llama-3.1-8b-instruct"
  std::filesystem::path folder;
  std::vector<std::string> methods;  ///< methods that have a profile, sorted by name
};

/// Searches the folder `profiles` in each of model_folders(). Returns one element for each of its
/// subfolders, sorted by name.
std::vector<KnownProfiles> known_profiles();

/// Returns `text` if it is an existing folder. Otherwise returns the folder of the known profiles
/// with the name `text`. Throws a UserError that lists the known names if there is none.
std::filesystem::path find_profiles(const std::string& text);

}  // namespace longhaul
