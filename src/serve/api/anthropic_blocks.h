#pragma once
// Messages of Anthropic's API in the internal form.

#include <string>
#include <vector>

#include "serve/api/conversation.h"

namespace longhaul::serve {

struct AnthropicOptions {
  bool keep_billing_header = false;  ///< Claude Code sends it first, and it changes each time
  DocumentLookup find_file;          ///< null: files cannot be named
};

/// Results of reading, besides the conversation itself.
struct AnthropicNotes {
  std::vector<std::string> warnings;
  std::vector<QuestionDocument> documents;  ///< document blocks of users, in order
  bool dropped_billing_header = false;
};

/// Converts system, messages, tools and tool_choice of a body. Throws ApiError that names the
/// member.
Conversation read_anthropic_conversation(const Json& body, const AnthropicOptions& options,
                                         AnthropicNotes& notes);
/// Members that it reads.
std::vector<std::string_view> anthropic_conversation_members();

/// The content of one message while its blocks are read.
class BlockText {
 public:
  void add(const std::string& text);
  /// Places of cache marks, in bytes of the text.
  void mark() { marks_.push_back(text_.size()); }
  bool empty() const { return text_.empty() && marks_.empty(); }
  const std::string& text() const { return text_; }
  const std::vector<size_t>& marks() const { return marks_; }

 private:
  std::string text_;
  std::vector<size_t> marks_;
};

/// The text of a block that a user can send (text, document, search_result), or of a result's
/// content. Throws ApiError for images and other kinds.
std::string text_of_block(const Json& block, const std::string& where);
/// A document block. Its text, or that of its file, is `document.text`; returns the whole text of
/// the block, with title and context.
std::string read_document_block(const Json& block, const std::string& where,
                                const DocumentLookup& find_file, QuestionDocument& document);
/// The text of a content that is a text or a list of such blocks.
std::string text_of_content(const Json& content, const std::string& where);
/// A member that is a text. Throws ApiError if it is missing or no text.
const std::string& text_member(const Json& object, const char* member, const std::string& where);

}  // namespace longhaul::serve
