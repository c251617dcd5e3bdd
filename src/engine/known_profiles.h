#pragma once
// Finds the method profiles (attention/profile.h) that are installed with the program. They contain
// settings that were published for well-known models, such as gates of duo or head patterns of
// minference.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct KnownProfiles {
  std::string name;  ///< such as "llama-3.1-8b-instruct"
  std::filesystem::path folder;
  std::vector<std::string> methods;  ///< methods that have a profile, sorted by name
};

/// Returns the models with folders in `profiles` below a folder of model_folders(), sorted by name.
std::vector<KnownProfiles> known_profiles();

/// Returns `text` if it is an existing folder. Otherwise returns the folder of the known profiles
/// with this name. Throws UserError that lists the names.
std::filesystem::path find_profiles(const std::string& text);

}  // namespace longhaul
