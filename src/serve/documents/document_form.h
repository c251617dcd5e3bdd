#pragma once
// Reads the bodies of requests that add documents.

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
  std::string bytes;                   ///< contents of the file in a form body
  PageRanges pages;
};

/// Reads the body of POST /v1/documents. The body is empty afterwards. Throws ApiError.
DocumentForm read_document_form(const ServedModel& model, http::HttpRequest& request);
/// Reads the body of POST /v1/files. Throws ApiError.
DocumentForm read_file_form(http::HttpRequest& request);

/// Returns the attention method that the client names, in the syntax of `--attention`. Returns the
/// server's default if `attention` is empty. Throws ApiError.
std::string checked_attention(const ServedModel& model, const std::string& attention);
/// Returns the name of a file without folders and control characters, at most 255 bytes.
std::string file_name_of(std::string_view name);

}  // namespace longhaul::serve
