#pragma once
// Defines the messages between a server and the process that converts its documents
// (documents/converter_process.h).

#include <cstdint>
#include <string>
#include <vector>

#include "documents/documents.h"

namespace longhaul {

/// A request to convert a document. It is sent together with two file descriptors: a pipe from
/// which the bytes of the document are read, and a pipe to which the answer is written.
struct ConverterRequest {
  std::string name, pages;
  size_t text_bytes = 0;  ///< largest size of the converted text
  std::string reason;     ///< reason for the limit (TextLimit::reason)

  std::string encoded() const;
  /// Returns false if the bytes are not a valid request.
  bool decode(std::string_view bytes);
};

/// The answer to a request. If the conversion failed, the answer has an error message instead of a
/// document.
struct ConverterAnswer {
  Document document;
  std::vector<std::string> warnings;
  std::string error;  ///< empty: no error
  DocumentError::Problem problem = DocumentError::Problem::kUnreadable;

  std::string encoded() const;
  /// Returns false if the bytes are not a valid answer. The bytes may be arbitrary, because a
  /// hostile document could have taken control of the process that has converted it.
  bool decode(std::string_view bytes);
};

/// The last bytes in the pipe of the answer, which say how the conversion ended. The converter
/// process writes them after the child process that converted the document has ended.
struct ConverterTrailer {
  static constexpr uint32_t kMark = 0x4c484456;
  uint32_t mark = kMark;
  int32_t status = 0;  ///< exit status of the child process, as waitpid() returns it
  uint32_t too_slow = 0;
};

}  // namespace longhaul
