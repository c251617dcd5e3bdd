#pragma once
// Converts a request of Anthropic's Messages API to a Conversation (serve/api/conversation.h). Also
// reads the blocks of which the content of a message consists.

#include <string>
#include <vector>

#include "serve/api/conversation.h"

namespace longhaul::serve {

struct AnthropicOptions {
  /// Whether the billing header that Claude Code sends first is kept. It differs in each request,
  /// so prompts that contain it cannot reuse the prefix cache.
  bool keep_billing_header = false;
  DocumentLookup find_file;  ///< finds a file by its id; null: requests cannot name files
};

/// The result of reading a request, in addition to the conversation.
struct AnthropicNotes {
  std::vector<std::string> warnings;
  std::vector<QuestionDocument> documents;  ///< documents in the user's messages, in order
  bool dropped_billing_header = false;
};

/// Returns the conversation of a request body. Reads the members system, messages, tools and
/// tool_choice. The members of tools are moved out of `body`. Throws ApiError that names the member
/// if a member is invalid.
Conversation read_anthropic_conversation(Json& body, const AnthropicOptions& options,
                                         AnthropicNotes& notes);
/// Returns the names of the members that read_anthropic_conversation() reads.
std::vector<std::string_view> anthropic_conversation_members();

/// Collects the text and the cache marks of one message while its blocks are read. A cache mark is
/// a position up to which the client expects its next prompt to be equal to this one.
class BlockText {
 public:
  void add(const std::string& text);
  /// Adds a cache mark at the end of the present text. A mark is stored as a byte offset in the
  /// text.
  void mark() { marks_.push_back(text_.size()); }
  bool empty() const { return text_.empty() && marks_.empty(); }
  const std::string& text() const { return text_; }
  const std::vector<size_t>& marks() const { return marks_; }

 private:
  std::string text_;
  std::vector<size_t> marks_;
};

/// Returns the text of a block that a user can send (text, document or search_result), or of a
/// block in the content of a tool's result. `where` is the path of the block in the request, so
/// that an error message can name the block. Throws ApiError for images and other kinds of blocks.
std::string text_of_block(const Json& block, const std::string& where);
/// Reads a document block. Sets `document.text` to the text in the block, or to the text of the
/// file that the block names. Returns the whole text of the block, including title and context.
std::string read_document_block(const Json& block, const std::string& where,
                                const DocumentLookup& find_file, QuestionDocument& document);
/// Returns the text of a message's content, which is a string or a list of blocks.
std::string text_of_content(const Json& content, const std::string& where);
/// Returns the value of a member that must be a string. Throws ApiError if the member is missing or
/// has another type.
const std::string& text_member(const Json& object, const char* member, const std::string& where);

}  // namespace longhaul::serve
