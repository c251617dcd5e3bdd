#pragma once
// Stores documents in the folder of `--cache-dir`, so that they survive a restart of the server.
// Each document has one file with its text and tokens. DiskStore stores the snapshots of the
// documents in the same folder.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/documents/document.h"

namespace longhaul::serve {

/// The contents of a document's file. `tokens` and `map` are valid only for the model that computed
/// them, which `fingerprint` identifies.
struct StoredDocument {
  std::string id, key;
  int64_t created = 0;
  DocumentWish wish;
  std::shared_ptr<const DocumentText> text;
  uint64_t fingerprint = 0;  ///< hash of the model and settings (DiskOptions::fingerprint)
  std::vector<int32_t> tokens;
  int64_t text_begin = 0;
  size_t kv_bytes = 0;
  std::shared_ptr<const RetentionMap> map;  ///< null until the document has been prefilled
};

class DocumentFiles {
 public:
  DocumentFiles(std::filesystem::path folder, uint64_t fingerprint)
      : folder_(std::move(folder)), fingerprint_(fingerprint) {}

  uint64_t fingerprint() const { return fingerprint_; }
  /// Writes the file of the document and waits until it is on the disk. If the process is killed
  /// meanwhile, an earlier file of the document remains intact. Throws UserError if writing fails.
  void write(const StoredDocument& document) const;
  void remove(const std::string& id) const;
  /// Reads the files of all documents, and returns the documents, oldest first. A damaged file is
  /// renamed to .bad, and `damaged` is called with a message about it.
  std::vector<StoredDocument> read(
      const std::function<void(const std::string& problem)>& damaged) const;

 private:
  std::filesystem::path path_of(const std::string& id) const;

  std::filesystem::path folder_;
  uint64_t fingerprint_;
};

}  // namespace longhaul::serve
