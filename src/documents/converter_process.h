#pragma once
// A process that converts documents for a server. It is started before the server reads bytes from
// clients, and before the server gives up the permission to start programs. Each document is
// converted in its own child process in a sandbox. The child can read programs and their libraries.
// It cannot write files and has no sockets, and its memory, processor time and elapsed time are
// limited.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "documents/documents.h"

namespace longhaul {

/// Thrown if the process has ended, so that no document can be converted.
class ConverterGone : public std::runtime_error {
 public:
  ConverterGone() : std::runtime_error("the process that converts documents has ended") {}
};

struct ConverterLimits {
  size_t memory = size_t{2} << 30;  ///< memory in bytes for each document
  bool sandbox = true;
};

struct ConvertedDocument {
  Document document;
  std::vector<std::string> warnings;
};

class ConverterProcess {
 public:
  /// Forks the process. The object must be constructed before this process starts threads. From
  /// then on, this process ignores SIGPIPE.
  explicit ConverterProcess(const ConverterLimits& limits);
  /// Ends the process.
  ~ConverterProcess();

  ConverterProcess(const ConverterProcess&) = delete;
  ConverterProcess& operator=(const ConverterProcess&) = delete;

  /// Ends the process and all running conversions. Later conversions throw ConverterGone.
  void end() const;
  /// Returns whether the process exists.
  bool alive() const;
  pid_t id() const { return process_; }

  /// Converts the bytes of a document. `name` is the name of the file without folders. Several
  /// threads may call it at the same time. Throws DocumentError if the document cannot be converted
  /// or exceeds a limit, and ConverterGone if the process has ended.
  ConvertedDocument convert(std::string bytes, const std::string& name,
                            const DocumentOptions& options) const;

 private:
  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace longhaul
