#pragma once
// A model's repository on the hub: its files with their sizes and hashes, and its licence.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"

namespace longhaul {

struct HubFile {
  std::string path;  ///< within the repository
  int64_t bytes = 0;
  std::string sha256;  ///< empty for small files, for which the hub gives none
};

struct HubRepository {
  std::string name;    ///< OWNER/REPO
  std::string commit;  ///< at the time of the query, so that all files are of one revision
  std::string licence;
  std::vector<HubFile> files;
};

/// $HF_TOKEN; empty if not set.
std::string hub_token();

/// Throws UserError if there is no such repository, it requires a token, the response is invalid,
/// or the connection fails.
HubRepository ask_hub(const std::string& repository, const CancelFlag* cancel);

/// Parses the hub's responses: the model's description, and the pages of its list of files.
HubRepository read_repository(const std::string& name, const std::string& about,
                              const std::vector<std::string>& lists);

/// URL of a file.
std::string file_url(const HubRepository& repository, const HubFile& file);

/// Meaning of an HTTP error status (401, 403, 404, 429 and others), for messages.
std::string status_text(long status);

/// The address of the next page in a Link header; empty if there is none.
std::string next_page(std::string_view link);

}  // namespace longhaul
