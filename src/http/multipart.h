#pragma once
// Parses bodies of type multipart/form-data (RFC 7578), which hold the files and values of a form.

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace longhaul::http {

struct FormPart {
  std::string name;
  std::string filename;  ///< name of the file as the client sent it
  bool is_file = false;  ///< whether the part has a filename
  std::string_view bytes;
};

struct FormBody {
  std::vector<FormPart> parts;  ///< in the order of the body; they refer to the body's bytes
  std::string problem;          ///< reason why the body is invalid; empty: it is valid
};

/// Returns whether the type of the request is multipart/form-data.
bool is_upload(const HttpRequest& request);

/// Parses a body of the type `content_type`. The body may have at most 64 parts, each with a header
/// of at most 8 KiB.
FormBody read_form(std::string_view content_type, std::string_view body);

}  // namespace longhaul::http
