#include "serve/documents/document_form.h"

#include "base/error.h"
#include "http/multipart.h"
#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostFileBytes = size_t{256} << 20;
constexpr size_t kLongestFileName = 255;

PageRanges read_pages(const std::string& text) {
  try {
    return text.empty() ? PageRanges() : PageRanges::parse(text);
  } catch (const UserError& error) {
    refuse_field("pages", "{}", error.what());
  }
}

bool read_boolean(const std::string& name, std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0" || text.empty()) return false;
  refuse_field(name, "is neither true nor false");
}

/// The file and the values of a form.
struct FormValues {
  std::string name, bytes;
  bool has_file = false;
  std::vector<std::pair<std::string, std::string>> values;

  std::string value(std::string_view wanted) const {
    for (const auto& [key, text] : values) {
      if (key == wanted) return text;
    }
    return {};
  }
};

FormValues read_form_values(http::HttpRequest& request) {
  const http::FormBody form = http::read_form(request.field("Content-Type"), request.body);
  if (!form.problem.empty()) {
    throw ApiError(400, "invalid_request_error", "malformed_request", form.problem);
  }
  FormValues read;
  for (const http::FormPart& part : form.parts) {
    if (!part.is_file) {
      read.values.emplace_back(part.name, std::string(part.bytes));
      continue;
    }
    if (read.has_file) refuse_field("file", "there are two; a document has one file");
    if (part.bytes.size() > kMostFileBytes) {
      throw ApiError(413, "invalid_request_error", "request_too_large",
                     fmt::format("the file is larger than {} bytes", kMostFileBytes), "file");
    }
    read.has_file = true;
    read.name = file_name_of(part.filename);
    read.bytes = part.bytes;
  }
  request.body = {};
  if (!read.has_file) refuse_field("file", "is missing");
  return read;
}

}  // namespace

std::string file_name_of(std::string_view name) {
  const size_t slash = name.find_last_of("/\\");
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::string clean = one_line(std::string(name.substr(0, kLongestFileName)));
  return clean.empty() ? "document" : clean;
}

std::string checked_attention(const ServedModel& model, const std::string& attention) {
  return method_of_request(model, attention).text();
}

DocumentForm read_document_form(const ServedModel& model, http::HttpRequest& request) {
  DocumentForm form;
  if (http::is_upload(request)) {
    FormValues values = read_form_values(request);
    form.bytes = std::move(values.bytes);
    form.wish.name = values.value("name").empty() ? values.name : values.value("name");
    form.wish.attention = values.value("attention");
    form.wish.system = values.value("system");
    form.wish.persist = read_boolean("persist", values.value("persist"));
    form.pages = read_pages(values.value("pages"));
  } else {
    constexpr std::string_view kKnown[] = {"text",   "file_id", "name", "attention",
                                           "system", "persist", "pages"};
    const Json body = read_body(request.body, kKnown);
    request.body = {};
    const FieldReader fields(body);
    form.text = fields.text("text");
    form.file_id = fields.text("file_id");
    if (form.text.has_value() == form.file_id.has_value()) {
      refuse_field("text", "a document has either text or file_id");
    }
    if (fields.has("pages")) refuse_field("pages", "only a file that is sent has pages to choose");
    form.wish.name = fields.text("name").value_or(form.text ? "text" : "");
    form.wish.attention = fields.text("attention").value_or("");
    form.wish.system = fields.text("system").value_or("");
    form.wish.persist = fields.boolean("persist").value_or(false);
  }
  if (!form.wish.name.empty()) form.wish.name = file_name_of(form.wish.name);
  form.wish.attention = checked_attention(model, form.wish.attention);
  return form;
}

DocumentForm read_file_form(http::HttpRequest& request) {
  if (!http::is_upload(request)) {
    throw ApiError(415, "invalid_request_error", "unsupported_media_type",
                   "the body has to be multipart/form-data");
  }
  FormValues values = read_form_values(request);
  DocumentForm form;
  form.bytes = std::move(values.bytes);
  form.wish.name = values.name;
  form.wish.is_file = true;
  form.wish.purpose = values.value("purpose");
  if (form.wish.purpose.empty()) form.wish.purpose = "user_data";
  return form;
}

}  // namespace longhaul::serve
