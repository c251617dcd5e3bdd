#include "serve/documents/document_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/byte_stream.h"
#include "base/error.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMagic = "longhaul document";
constexpr uint32_t kVersion = 1;
constexpr const char* kEnding = ".document";
constexpr size_t kIdBytes = 36;

bool is_document_id(std::string_view id) {
  return id.size() == kIdBytes && id.starts_with("doc_") &&
         id.find_first_not_of("0123456789abcdef", 4) == std::string_view::npos;
}

void write_map(ByteWriter& out, const RetentionMap* map) {
  out.number<uint8_t>(map != nullptr ? 1 : 0);
  if (map == nullptr) return;
  out.number<int64_t>(map->tokens);
  out.number<int32_t>(map->layers);
  out.number<int32_t>(map->heads);
  out.number<int64_t>(map->bins);
  out.array(std::span<const float>(map->kept));
}

std::shared_ptr<const RetentionMap> read_map(ByteReader& in) {
  if (in.number<uint8_t>() == 0) return nullptr;
  auto map = std::make_shared<RetentionMap>();
  map->tokens = in.number<int64_t>();
  map->layers = in.number<int32_t>();
  map->heads = in.number<int32_t>();
  map->bins = in.number<int64_t>();
  map->kept = in.array<float>();
  const bool fits = map->layers > 0 && map->heads > 0 && map->bins > 0 &&
                    map->bins <= RetentionMap::kMostBins && map->layers < (1 << 16) &&
                    map->heads < (1 << 16) &&
                    static_cast<int64_t>(map->kept.size()) ==
                        static_cast<int64_t>(map->layers) * map->heads * map->bins;
  if (!fits) user_error("the map has a wrong size");
  return map;
}

StoredDocument read_document(const fs::path& path) {
  ByteReader in(path);
  if (in.text() != kMagic) user_error("is no document");
  if (const auto version = in.number<uint32_t>(); version != kVersion) {
    user_error("has version {}", version);
  }
  StoredDocument read;
  read.id = in.text();
  if (!is_document_id(read.id) || path.stem() != read.id) user_error("has a wrong id");
  read.key = in.text();
  read.created = in.number<int64_t>();
  read.wish.name = in.text();
  read.wish.attention = in.text();
  read.wish.system = in.text();
  read.wish.persist = true;
  Document document;
  document.name = in.text();
  document.made = in.text();
  document.text = in.text();
  std::vector<std::string> warnings(in.number<uint32_t>() % 1024);
  for (std::string& warning : warnings) warning = in.text();
  read.text = std::make_shared<const DocumentText>(std::move(document), std::move(warnings));
  read.fingerprint = in.number<uint64_t>();
  read.tokens = in.array<int32_t>();
  read.text_begin = in.number<int64_t>();
  read.kv_bytes = in.number<uint64_t>();
  read.map = read_map(in);
  return read;
}

}  // namespace

fs::path DocumentFiles::path_of(const std::string& id) const { return folder_ / (id + kEnding); }

void DocumentFiles::write(const StoredDocument& document) const {
  const fs::path path = path_of(document.id);
  ByteWriter out(path);
  out.text(kMagic);
  out.number(kVersion);
  out.text(document.id);
  out.text(document.key);
  out.number<int64_t>(document.created);
  out.text(document.wish.name);
  out.text(document.wish.attention);
  out.text(document.wish.system);
  const Document& text = document.text->document;
  out.text(text.name);
  out.text(text.made);
  out.text(text.text);
  const size_t warnings = std::min<size_t>(document.text->warnings.size(), 1023);
  out.number<uint32_t>(static_cast<uint32_t>(warnings));
  for (size_t i = 0; i < warnings; ++i) out.text(document.text->warnings[i]);
  out.number<uint64_t>(fingerprint_);
  out.array(std::span<const int32_t>(document.tokens));
  out.number<int64_t>(document.text_begin);
  out.number<uint64_t>(document.kv_bytes);
  write_map(out, document.map.get());
  out.finish();
  chmod(path.c_str(), 0600);
}

void DocumentFiles::remove(const std::string& id) const {
  std::error_code problem;
  fs::remove(path_of(id), problem);
}

std::vector<StoredDocument> DocumentFiles::read(
    const std::function<void(const std::string& problem)>& damaged) const {
  std::vector<StoredDocument> documents;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem)) {
    if (entry.path().extension() != kEnding) continue;
    try {
      documents.push_back(read_document(entry.path()));
    } catch (const std::exception& error) {
      fs::path bad = entry.path();
      fs::rename(entry.path(), bad.replace_extension(".bad"), problem);
      damaged(fmt::format("{}: damaged ({}); renamed to .bad",
                          one_line(entry.path().filename().string()), one_line(error.what())));
    }
  }
  std::ranges::sort(documents, {}, [](const StoredDocument& document) {
    return std::pair(document.created, document.id);
  });
  return documents;
}

}  // namespace longhaul::serve
