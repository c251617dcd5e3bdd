#pragma once
// Models that are recommended: models/catalogue.json beside the program.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

struct CatalogueEntry {
  std::string name;
  std::string repository, file;  ///< on the hub
  int64_t bytes = 0;             ///< about
  int64_t context = 0;           ///< tokens that it was trained for
  std::string languages, licence;
  std::string good_for;  ///< on which memory
};

/// Throws UserError naming file and entry; empty where there is no such file.
std::vector<CatalogueEntry> read_catalogue();

/// The same from the text of a file of that name.
std::vector<CatalogueEntry> parse_catalogue(const std::string& text, const std::string& file);

std::optional<CatalogueEntry> find_in_catalogue(const std::string& name);

}  // namespace longhaul
