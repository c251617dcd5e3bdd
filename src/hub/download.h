#pragma once
// Downloads files by HTTP. The received bytes of an interrupted download are kept, so that the next
// download of the file can resume.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/cancel.h"
#include "hub/http.h"

namespace longhaul {

struct Download {
  std::string url;
  std::string token;
  std::filesystem::path target;
  int64_t bytes = -1;  ///< expected size; -1: unknown
  std::string sha256;  ///< expected hash; empty: unknown
  const CancelFlag* cancel = nullptr;
  HttpLimits limits = {};
  /// Called with the number of received bytes. `total` is -1 as long as the size of the file is
  /// unknown.
  std::function<void(int64_t done, int64_t total)> progress;
  std::function<void(const std::string& problem)> retrying;
};

enum class DownloadEnd { kDone, kCancelled };

/// Downloads a file to `target`. Until the file is complete and verified, its bytes are in the part
/// file .NAME.part in the same folder, which is locked. If there is a part file from an earlier
/// call, the download resumes after its bytes, provided that the server can send the rest. If no
/// sha256 is given, it resumes only if the server's entity tag (ETag) has not changed. If the
/// server does not send exactly the rest, the whole file is downloaded. If the connection breaks or
/// is too slow, the download is tried again a few times. Throws UserError if the server rejects the
/// request, if the length or sha256 is wrong (the part file is then removed), if the disk is full,
/// if another process downloads the same file, or if the part file is a link or not a regular file.
DownloadEnd download(const Download& what);

/// Returns the size of the part file for `target` in bytes, or 0 if there is none.
int64_t bytes_arrived(const std::filesystem::path& target);

}  // namespace longhaul
