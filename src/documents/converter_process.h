#pragma once
// A process that converts documents for a server. It is started before the server reads bytes from
// clients and before the server loses the right to start programs. Each document is converted in a
// child process of its own, which runs in a sandbox: it reads the programs and their libraries,
// writes no file, has no sockets, and is limited in memory, processor time and elapsed time.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "documents/documents.h"

namespace longhaul {

/// The process has ended, so no document can be converted.
class ConverterGone : public std::runtime_error {
 public:
  ConverterGone() : std::runtime_error("the process that converts documents has ended") {}
};

struct ConverterLimits {
  size_t memory = size_t{2} << 30;  ///< bytes for each document
  bool sandbox = true;
};

struct ConvertedDocument {
  Document document;
  std::vector<std::string> warnings;
};

class ConverterProcess {
 public:
  /// Forks the process. Must be called before this process starts threads. Ignores SIGPIPE from now
  /// on, in this process.
  explicit ConverterProcess(const ConverterLimits& limits);
  /// Ends the process.
  ~ConverterProcess();

  ConverterProcess(const ConverterProcess&) = delete;
  ConverterProcess& operator=(const ConverterProcess&) = delete;

  /// Ends the process with all conversions that run. Later ones throw ConverterGone.
  void end() const;
  /// Whether the process exists.
  bool alive() const;
  pid_t id() const { return process_; }

  /// Converts the bytes of a document. `name` is the file's name without folders. It may be called
  /// by several threads at once. Throws DocumentError, also if the document exceeds a limit, and
  /// ConverterGone.
  ConvertedDocument convert(std::string bytes, const std::string& name,
                            const DocumentOptions& options) const;

 private:
  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace longhaul
