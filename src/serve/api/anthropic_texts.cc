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
  if (type == "file") {
    refuse_field(where + ".type", "files cannot be named here; send the text of the document");
  }
  refuse_field(where + ".type", "{} cannot be read; send the text of the document",
               printable(type));
}

std::string document_text(const Json& block, const std::string& where) {
  if (!block.contains("source")) refuse_field(where + ".source", "is missing");
  std::string text;
  for (const char* member : {"title", "context"}) {
    const auto found = block.find(member);
    if (found == block.end() || found->is_null()) continue;
    text += text_member(block, member, where) + "\n";
  }
  return text + document_body(block["source"], where + ".source");
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
