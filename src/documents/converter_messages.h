#pragma once
// Messages between a server and the process that converts its documents.

#include <cstdint>
#include <string>
#include <vector>

#include "documents/documents.h"

namespace longhaul {

/// A request. It is sent together with two descriptors: a pipe with the bytes of the document, and
/// a pipe for the answer.
struct ConverterRequest {
  std::string name, pages;
  size_t text_bytes = 0;  ///< largest size of the text
  std::string reason;     ///< reason for the limit (TextLimit::reason)

  std::string encoded() const;
  /// Returns false if the bytes are not a valid request.
  bool decode(std::string_view bytes);
};

/// The answer of the process that converted the document. If the conversion failed, the answer has
/// an error message and no document.
struct ConverterAnswer {
  Document document;
  std::vector<std::string> warnings;
  std::string error;  ///< empty: no error
  DocumentError::Problem problem = DocumentError::Problem::kUnreadable;

  std::string encoded() const;
  /// Returns false if the bytes are not a valid answer. The bytes come from a process that has read
  /// a client's document, so they may be arbitrary.
  bool decode(std::string_view bytes);
};

/// The last bytes in the pipe of the answer. They are written after the child process has ended.
struct ConverterTrailer {
  static constexpr uint32_t kMark = 0x4c484456;
  uint32_t mark = kMark;
  int32_t status = 0;  ///< exit status as waitpid() returns it
  uint32_t too_slow = 0;
};

}  // namespace longhaul
