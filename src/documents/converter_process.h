#pragma once
// ConverterProcess is a process that converts documents for a server. The server starts it before
// it reads bytes from clients, and before it enters a sandbox in which programs cannot be started.
// The process converts each document in a child process of its own, which is in another sandbox.
// The child can execute programs and read their libraries. It cannot write files and has no
// sockets. Its memory, processor time and elapsed time are limited.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "documents/documents.h"

namespace longhaul {

/// Thrown if the converter process has ended, so that no document can be converted.
class ConverterGone : public std::runtime_error {
 public:
  ConverterGone() : std::runtime_error("the process that converts documents has ended") {}
};

struct ConverterLimits {
  size_t memory = size_t{2} << 30;  ///< largest memory of a conversion in bytes
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
  /// Returns whether the process is running.
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
