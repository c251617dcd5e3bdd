#pragma once
// Bodies of type multipart/form-data (RFC 7578): files and values of a form.

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace longhaul::http {

struct FormPart {
  std::string name;
  std::string filename;  ///< as the client sent it
  bool is_file = false;  ///< it has a filename
  std::string_view bytes;
};

struct FormBody {
  std::vector<FormPart> parts;  ///< in the order of the body, whose bytes they refer to
  std::string problem;          ///< the reason why the body cannot be read; empty: it was read
};

/// Whether the request's type is multipart/form-data.
bool is_upload(const HttpRequest& request);

/// Reads a body of the type `content_type`. At most 64 parts, each with a header of at most 8 KiB.
FormBody read_form(std::string_view content_type, std::string_view body);

}  // namespace longhaul::http
