#pragma once
// Settings of methods that were published for well-known models (gates of duo, head patterns of
// minference, ...): folders of profiles (attention/profile.h) that are installed with the program.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct KnownProfiles {
  std::string name;  ///< "llama-3.1-8b-instruct"
  std::filesystem::path folder;
  std::vector<std::string> methods;  ///< methods with a profile, by name
};

/// The models in the folders `profiles` of model_folders(), sorted by name.
std::vector<KnownProfiles> known_profiles();

/// Returns a folder that exists, or else the folder of the known profiles of this name. Throws
/// UserError that lists the names.
std::filesystem::path find_profiles(const std::string& text);

}  // namespace longhaul
