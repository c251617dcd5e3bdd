#pragma once
// Bodies of requests that add documents.

#include <optional>
#include <string>

#include "documents/page_ranges.h"
#include "http/message.h"
#include "serve/documents/document.h"
#include "serve/served_model.h"

namespace longhaul::serve {

struct DocumentForm {
  DocumentWish wish;
  std::optional<std::string> text;     ///< "text" of a JSON body
  std::optional<std::string> file_id;  ///< "file_id" of a JSON body
  std::string bytes;                   ///< the file of a form
  PageRanges pages;
};

/// Reads the body of POST /v1/documents, which is emptied. Throws ApiError.
DocumentForm read_document_form(const ServedModel& model, http::HttpRequest& request);
/// Reads the body of POST /v1/files.
DocumentForm read_file_form(http::HttpRequest& request);

/// The text of the method that a client names; the server's own if it names none. Throws ApiError.
std::string checked_attention(const ServedModel& model, const std::string& attention);
/// A file's name without folders and control characters, at most 255 bytes.
std::string file_name_of(std::string_view name);

}  // namespace longhaul::serve
