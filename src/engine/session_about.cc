#include "engine/session_about.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"
#include "engine/session_file.h"

namespace longhaul {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMostAboutBytes = uint64_t{16} << 20;

Json json_of_text(const SavedText& text) {
  Json headings = Json::array();
  for (const Heading& heading : text.headings) headings.push_back({heading.offset, heading.text});
  return {{"name", text.name},
          {"bytes", text.bytes},
          {"in_paragraphs", text.in_paragraphs},
          {"headings", headings}};
}

SavedText text_of_json(const Json& json) {
  SavedText text;
  text.name = json.at("name").get<std::string>();
  text.bytes = json.at("bytes").get<size_t>();
  text.in_paragraphs = json.at("in_paragraphs").get<bool>();
  for (const Json& heading : json.at("headings")) {
    text.headings.push_back({heading.at(0).get<size_t>(), heading.at(1).get<std::string>()});
  }
  return text;
}

/// Throws an exception of the JSON library if a member is missing or has another type.
SessionAbout about_of_json(const Json& json) {
  SessionAbout about;
  about.model = json.at("model").get<std::string>();
  about.reads = json.at("reads").get<std::string>();
  about.held = json.at("held").get<int64_t>();
  about.whole = json.at("whole").get<int64_t>();
  for (const Json& text : json.at("texts")) about.texts.push_back(text_of_json(text));
  return about;
}

/// Names and questions of the user may contain invalid UTF-8.
std::string about_text(const SessionAbout& about) {
  Json texts = Json::array();
  for (const SavedText& text : about.texts) texts.push_back(json_of_text(text));
  const Json json = {{"model", about.model},
                     {"reads", about.reads},
                     {"held", about.held},
                     {"whole", about.whole},
                     {"texts", texts}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The part of `text` that a document at `at` has. A cut text ends earlier than its documents.
std::string_view part_at(std::string_view text, size_t at, size_t bytes) {
  return at < text.size() ? text.substr(at, bytes) : std::string_view{};
}

}  // namespace

SessionAbout read_about(const std::filesystem::path& file) {
  if (!is_session_file(file)) return {};
  std::ifstream in(file, std::ios::binary);
  SessionFileStart start;
  in.read(reinterpret_cast<char*>(&start), sizeof start);
  if (!in || start.version != kVersionWithAbout) return {};
  std::string text;
  if (start.about_bytes <= kMostAboutBytes) {
    text.resize(start.about_bytes);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
  }
  try {
    if (in && !text.empty()) return about_of_json(Json::parse(text));
  } catch (const Json::exception&) {  // reported below
  }
  user_error("{}: damaged: what it says about its texts cannot be read", file.string());
}

void save_with_about(const Sequence& sequence, const std::filesystem::path& file,
                     const SessionAbout& about) {
  sequence.save_after(file, {0, kAboutMark + about_text(about)});
}

std::vector<SavedText> saved_texts(const std::vector<Document>& documents) {
  std::vector<SavedText> texts;
  for (const Document& document : documents) {
    const size_t bytes = join_documents({document.text}, "").size();
    if (bytes == 0) continue;
    texts.push_back({document.name, bytes, document.in_paragraphs, document.headings});
  }
  return texts;
}

std::vector<Document> split_loaded_text(const std::string& text, const SessionAbout& about,
                                        const std::string& otherwise) {
  constexpr size_t kBetween = 2;  // newlines between two documents
  const auto document = [](const SavedText& saved, std::string_view part) {
    return Document{saved.name, std::string(part), "", saved.headings, saved.in_paragraphs};
  };
  // A single text keeps its name even if the tokenizer changed some of its bytes.
  if (about.texts.size() == 1) return {document(about.texts.front(), text)};
  size_t all = 0;
  for (const SavedText& saved : about.texts) {
    all += saved.bytes > text.size() ? text.size() + 1 : saved.bytes + kBetween;
  }
  const bool fits = about.incomplete() ? all >= text.size() : all == text.size() + kBetween;
  std::vector<Document> documents;
  size_t at = 0;
  for (const SavedText& saved : about.texts) {
    if (!fits || (at >= text.size() && !documents.empty())) break;
    documents.push_back(document(saved, part_at(text, at, saved.bytes)));
    at += std::min(saved.bytes, text.size()) + kBetween;
  }
  if (documents.empty()) documents.push_back({otherwise, text, "", {}, false});
  return documents;
}

}  // namespace longhaul
