// A body of type multipart/form-data. The first line of an input is the Content-Type. The parts of
// a form lie in the body, one after the other, and a form that is written again from them has the
// same parts. POST /v1/documents and /v1/files read such a form or refuse it in one line.

#include <string>

#include "attempt.h"
#include "http/multipart.h"
#include "serve/api/api_error.h"
#include "serve/api/json_text.h"
#include "serve/documents/document_form.h"

namespace {

using namespace longhaul;
using namespace longhaul::serve;

std::string quoted_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// A form with the same parts, or nothing if a name does not fit into a header of one line.
std::string written_again(const http::FormBody& form, const std::string& boundary) {
  std::string body;
  for (const http::FormPart& part : form.parts) {
    body += "--" + boundary + "\r\nContent-Disposition: form-data; name=" + quoted_text(part.name);
    if (part.is_file) body += "; filename=" + quoted_text(part.filename);
    body += "\r\n\r\n";
    body += part.bytes;
    body += "\r\n";
    if ((part.name + part.filename).find("\r\n") != std::string::npos) return {};
    if (part.name.size() + part.filename.size() > 2000) return {};
  }
  return body + "--" + boundary + "--\r\n";
}

void check_parts(const std::string& body, const http::FormBody& form) {
  const char* at = body.data();
  for (const http::FormPart& part : form.parts) {
    fuzzing::check(part.bytes.data() >= at);
    at = part.bytes.data() + part.bytes.size();
    fuzzing::check(at <= body.data() + body.size());
  }
  std::string boundary = "again";
  while (body.find(boundary) != std::string::npos) boundary += "n";
  if (boundary.size() > 70) return;
  const std::string copy = written_again(form, boundary);
  if (copy.empty()) return;
  const http::FormBody same = http::read_form("multipart/form-data; boundary=" + boundary, copy);
  fuzzing::check(same.problem.empty() && same.parts.size() == form.parts.size());
  for (size_t i = 0; i < same.parts.size(); ++i) {
    fuzzing::check(same.parts[i].name == form.parts[i].name);
    fuzzing::check(same.parts[i].is_file == form.parts[i].is_file);
    fuzzing::check(same.parts[i].filename == form.parts[i].filename);
    fuzzing::check(same.parts[i].bytes == form.parts[i].bytes);
  }
}

const ServedModel& served_nano() {
  static const ServedModel model = [] {
    ServedModel made;
    made.name = "nano";
    made.engine = Engine::open(std::string(LONGHAUL_SOURCE_DIR) + "/models/nano");
    made.kv_type = "bf16";
    return made;
  }();
  return model;
}

template <class Read>
void read_or_refuse(Read read) {
  try {
    fuzzing::attempt([&] {
      const DocumentForm form = read();
      fuzzing::check(form.wish.name.find('/') == std::string::npos);
    });
  } catch (const ApiError& error) {
    fuzzing::check(error.status >= 400 && error.status < 500);
    fuzzing::check(std::strchr(error.what(), '\n') == nullptr);
    fuzzing::check(Json::accept(error_body(error)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(input.find('\n'), input.size());
  http::HttpRequest request;
  request.method = "POST";
  request.fields = {{"Content-Type", std::string(input.substr(0, line))}};
  const std::string body(input.substr(std::min(input.size(), line + 1)));
  const http::FormBody form = http::read_form(request.field("Content-Type"), body);
  if (form.problem.empty()) check_parts(body, form);
  request.body = body;
  read_or_refuse([&] { return read_document_form(served_nano(), request); });
  request.body = body;
  read_or_refuse([&] { return read_file_form(request); });
  return 0;
}
