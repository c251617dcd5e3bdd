// Texts of blocks.

#include "serve/api/anthropic_blocks.h"
#include "serve/api/api_error.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

std::string document_body(const Json& source, const std::string& where) {
  if (!source.is_object()) refuse_field(where, "is no object");
  const std::string& type = text_member(source, "type", where);
  if (type == "text") return text_member(source, "data", where);
  if (type == "content" && source.contains("content")) {
    return text_of_content(source["content"], where + ".content");
  }
  refuse_field(where + ".type",
               "{} cannot be read here: send the file to /v1/files and name its file_id, or send "
               "the text of the document",
               printable(type));
}

/// Title and context, each on a line.
std::string document_head(const Json& block, const std::string& where) {
  std::string text;
  for (const char* member : {"title", "context"}) {
    const auto found = block.find(member);
    if (found == block.end() || found->is_null()) continue;
    text += text_member(block, member, where) + "\n";
  }
  return text;
}

bool wants_citations(const Json& block, const std::string& where) {
  const auto citations = block.find("citations");
  if (citations == block.end() || citations->is_null()) return false;
  if (!citations->is_object()) refuse_field(where + ".citations", "is no object");
  const Json enabled = citations->value("enabled", Json(false));
  if (!enabled.is_boolean()) refuse_field(where + ".citations.enabled", "is not true or false");
  return enabled.get<bool>();
}

std::string document_text(const Json& block, const std::string& where) {
  if (!block.contains("source")) refuse_field(where + ".source", "is missing");
  return document_head(block, where) + document_body(block["source"], where + ".source");
}

std::string search_result_text(const Json& block, const std::string& where) {
  std::string text = text_member(block, "title", where) + "\n";
  text += text_member(block, "source", where) + "\n";
  if (!block.contains("content")) refuse_field(where + ".content", "is missing");
  return text + text_of_content(block["content"], where + ".content");
}

}  // namespace

const std::string& text_member(const Json& object, const char* member, const std::string& where) {
  const auto found = object.find(member);
  if (found == object.end()) refuse_field(where + "." + member, "is missing");
  if (!found->is_string()) refuse_field(where + "." + member, "is no text");
  return found->get_ref<const std::string&>();
}

void BlockText::add(const std::string& text) {
  if (!text_.empty() && !text.empty()) text_ += "\n";
  text_ += text;
}

std::string read_document_block(const Json& block, const std::string& where,
                                const DocumentLookup& find_file, QuestionDocument& document) {
  if (!block.contains("source")) refuse_field(where + ".source", "is missing");
  const Json& source = block["source"];
  const bool is_file = source.is_object() && source.value("type", Json()) == "file";
  if (is_file) {
    const std::string& id = text_member(source, "file_id", where + ".source");
    if (!find_file) refuse_field(where + ".source", "files cannot be named here");
    document = find_file(id);
    document.gate = nullptr;  // its text is read with the question
  } else {
    Document text;
    text.text = document_body(source, where + ".source");
    document.text = std::make_shared<const DocumentText>(std::move(text));
  }
  const auto title = block.find("title");
  if (title != block.end() && title->is_string()) document.title = *title;
  document.cites = wants_citations(block, where);
  return document_head(block, where) + document.text->document.text;
}

std::string text_of_block(const Json& block, const std::string& where) {
  if (!block.is_object()) refuse_field(where, "is no object");
  const std::string& type = text_member(block, "type", where);
  if (type == "text") return text_member(block, "text", where);
  if (type == "document") return document_text(block, where);
  if (type == "search_result") return search_result_text(block, where);
  if (type == "image") refuse_field(where, "is an image, and this model reads text only");
  refuse_field(where + ".type", "{} is unknown here", printable(type));
}

std::string text_of_content(const Json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) refuse_field(where, "is neither a text nor a list of blocks");
  BlockText text;
  for (size_t i = 0; i < content.size(); ++i) {
    text.add(text_of_block(content[i], fmt::format("{}[{}]", where, i)));
  }
  return text.text();
}

}  // namespace longhaul::serve
