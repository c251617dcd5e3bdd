#pragma once
// A model's repository on the hub: which files there are, what each holds, under which licence.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"

namespace longhaul {

struct HubFile {
  std::string path;  ///< in the repository
  int64_t bytes = 0;
  std::string sha256;  ///< empty: small files, which the hub does not name one of
};

struct HubRepository {
  std::string name;    ///< OWNER/REPO
  std::string commit;  ///< that was asked: what is fetched is of one state
  std::string licence;
  std::vector<HubFile> files;
};

/// $HF_TOKEN; empty where it is not set.
std::string hub_token();

/// Throws UserError: no such repository, one that needs a token, an answer that is none, no
/// connection.
HubRepository ask_hub(const std::string& repository, const CancelFlag* cancel);

/// The same from the answers of the hub: about the model, and the pages of its list of files.
HubRepository read_repository(const std::string& name, const std::string& about,
                              const std::vector<std::string>& lists);

/// Where a file is fetched from.
std::string file_url(const HubRepository& repository, const HubFile& file);

/// What a server's refusal means: 401, 403, 404, 429 and the rest, for messages.
std::string status_text(long status);

/// The address of the next page in a Link header; empty: there is none.
std::string next_page(std::string_view link);

}  // namespace longhaul
