#pragma once
// Reads the bodies of requests that add documents or files.

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
  /// Contents of the uploaded file in a multipart/form-data body.
  std::string bytes;
  PageRanges pages;
};

/// Reads the body of POST /v1/documents. Moves its contents out of `request`. Throws ApiError if
/// the body is invalid.
DocumentForm read_document_form(const ServedModel& model, http::HttpRequest& request);
/// Reads the body of POST /v1/files in the same way.
DocumentForm read_file_form(http::HttpRequest& request);

/// Returns the attention method that the client names, in the syntax of `--attention`. If
/// `attention` is empty, returns the server's default method. Throws ApiError if the method is
/// unknown or not offered.
std::string checked_attention(const ServedModel& model, const std::string& attention);
/// Returns `name` without folders and control characters, cut to at most 255 bytes.
std::string file_name_of(std::string_view name);

}  // namespace longhaul::serve
