#pragma once
// Documents in the folder of `--cache-dir`: one file for each, with its text and tokens. Their
// snapshots are beside them (DiskStore).

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/documents/document.h"

namespace longhaul::serve {

/// A document as its file has it. The tokens and the map belong to the model that wrote them.
struct StoredDocument {
  std::string id, key;
  int64_t created = 0;
  DocumentWish wish;
  std::shared_ptr<const DocumentText> text;
  uint64_t fingerprint = 0;  ///< model and settings
  std::vector<int32_t> tokens;
  int64_t text_begin = 0;
  size_t kv_bytes = 0;
  std::shared_ptr<const RetentionMap> map;  ///< null until the document has been read
};

class DocumentFiles {
 public:
  DocumentFiles(std::filesystem::path folder, uint64_t fingerprint)
      : folder_(std::move(folder)), fingerprint_(fingerprint) {}

  uint64_t fingerprint() const { return fingerprint_; }
  /// Writes the document. It is on the disk afterwards, and a process that is killed meanwhile
  /// leaves the former file or none. Throws UserError.
  void write(const StoredDocument& document) const;
  void remove(const std::string& id) const;
  /// All documents, oldest first. Damaged files are renamed to .bad and reported.
  std::vector<StoredDocument> read(
      const std::function<void(const std::string& problem)>& damaged) const;

 private:
  std::filesystem::path path_of(const std::string& id) const;

  std::filesystem::path folder_;
  uint64_t fingerprint_;
};

}  // namespace longhaul::serve
