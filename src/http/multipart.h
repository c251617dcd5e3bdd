#pragma once
// Parses bodies of type multipart/form-data (RFC 7578). Each part of such a body is a file or a
// value of a form.

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace longhaul::http {

struct FormPart {
  std::string name;
  std::string filename;  ///< name of the file, as the client has sent it
  bool is_file = false;  ///< whether the part has a filename
  std::string_view bytes;
};

struct FormBody {
  /// In the order of the body; FormPart::bytes are views into the body.
  std::vector<FormPart> parts;
  std::string problem;  ///< reason why the body is invalid; empty: it is valid
};

/// Returns whether the body of the request is of type multipart/form-data.
bool is_upload(const HttpRequest& request);

/// Parses a body. `content_type` is the header field, which contains the boundary between the
/// parts. The body may have at most 64 parts, each with a header of at most 8 KiB.
FormBody read_form(std::string_view content_type, std::string_view body);

}  // namespace longhaul::http
