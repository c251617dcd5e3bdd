#pragma once
// Messages between a server and the process that converts its documents.

#include <cstdint>
#include <string>
#include <vector>

#include "documents/documents.h"

namespace longhaul {

/// A request, which travels with two descriptors: a pipe with the document's bytes, and one for the
/// answer.
struct ConverterRequest {
  std::string name, pages;
  size_t text_bytes = 0;  ///< most bytes of text
  std::string reason;     ///< TextLimit::reason

  std::string encoded() const;
  /// Returns false if the bytes are no request.
  bool decode(std::string_view bytes);
};

/// The answer of the process that converted the document. An error has a message and no document.
struct ConverterAnswer {
  Document document;
  std::vector<std::string> warnings;
  std::string error;  ///< empty: there is none
  DocumentError::Problem problem = DocumentError::Problem::kUnreadable;

  std::string encoded() const;
  /// Returns false if the bytes are no answer. They come from a process that has read a document of
  /// a client, so they may be anything.
  bool decode(std::string_view bytes);
};

/// The last bytes of the pipe, written after the child process has ended.
struct ConverterTrailer {
  static constexpr uint32_t kMark = 0x4c484456;
  uint32_t mark = kMark;
  int32_t status = 0;  ///< as waitpid() returns it
  uint32_t too_slow = 0;
};

}  // namespace longhaul
