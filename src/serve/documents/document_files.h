#pragma once
// Stores documents in the folder of `--cache-dir`. Each has one file with its text and tokens.
// DiskStore stores their snapshots in the same folder.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/documents/document.h"

namespace longhaul::serve {

/// A document as it is stored in a file. Its tokens and its map are only valid for the model that
/// computed them.
struct StoredDocument {
  std::string id, key;
  int64_t created = 0;
  DocumentWish wish;
  std::shared_ptr<const DocumentText> text;
  uint64_t fingerprint = 0;  ///< hash of the model and settings
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
  /// Writes the document and waits until it is on the disk. If the process is killed meanwhile, the
  /// previous file, if any, remains intact. Throws UserError.
  void write(const StoredDocument& document) const;
  void remove(const std::string& id) const;
  /// Returns all documents, oldest first. Damaged files are renamed to .bad and reported to
  /// `damaged`.
  std::vector<StoredDocument> read(
      const std::function<void(const std::string& problem)>& damaged) const;

 private:
  std::filesystem::path path_of(const std::string& id) const;

  std::filesystem::path folder_;
  uint64_t fingerprint_;
};

}  // namespace longhaul::serve
