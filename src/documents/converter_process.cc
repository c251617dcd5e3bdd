#include "documents/converter_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/units.h"
#include "documents/converter_child.h"
#include "documents/converter_messages.h"
#include "documents/converters.h"
#include "documents/descriptor.h"

namespace longhaul {
namespace {

constexpr size_t kMostHeader = size_t{64} << 20;  // bytes of an answer beside its text

[[noreturn]] void refuse_unreadable(const std::string& message) {
  throw DocumentError(DocumentError::Problem::kUnreadable, message);
}

[[noreturn]] void refuse_slow(const std::string& message) {
  throw DocumentError(DocumentError::Problem::kTooSlow, message);
}

struct ConverterPipe {
  Descriptor out, in;

  explicit ConverterPipe(const std::string& name) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) refuse_unreadable(name + ": no pipe can be made for it");
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
};

/// Writes all bytes, unless the reader has ended.
void write_document(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(to, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void send_request(int socket, const std::string& request, int document, int answer) {
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  iovec part = {const_cast<char*>(request.data()), request.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int numbers[2] = {document, answer};
  std::memcpy(CMSG_DATA(header), numbers, sizeof numbers);
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) throw ConverterGone();
}

/// Everything up to the end of the pipe, at most `most` bytes.
std::string read_answer(int from, size_t most) {
  std::string bytes;
  constexpr size_t kPiece = 1 << 16;
  for (;;) {
    const size_t held = bytes.size();
    bytes.resize(held + kPiece);
    const ssize_t n = read(from, bytes.data() + held, kPiece);
    bytes.resize(held + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0 || (n < 0 && errno != EINTR) || bytes.size() > most) return bytes;
  }
}

/// Refuses a document whose process did not end by itself.
void check_end(const ConverterTrailer& trailer, const std::string& name) {
  if (trailer.too_slow != 0 ||
      (WIFSIGNALED(trailer.status) && WTERMSIG(trailer.status) == SIGXCPU)) {
    refuse_slow(fmt::format("{}: its conversion took more than {} (LONGHAUL_CONVERT_SECONDS)", name,
                            format_seconds(conversion_seconds())));
  }
  if (WIFSIGNALED(trailer.status)) {
    refuse_unreadable(fmt::format("{}: the process that converted it was ended by signal {}", name,
                                  WTERMSIG(trailer.status)));
  }
  if (trailer.status != 0) {
    refuse_unreadable(fmt::format("{}: the process that converted it ended with status {}", name,
                                  WEXITSTATUS(trailer.status)));
  }
}

}  // namespace

ConverterProcess::ConverterProcess(const ConverterLimits& limits) {
  conversion_seconds();  // a wrong value is reported now
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    user_error("no process for documents can be started: {}", std::strerror(errno));
  }
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    run_converter(ends[1], limits);
  }
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    close(socket_);
    user_error("no process for documents can be started: {}", std::strerror(errno));
  }
}

ConverterProcess::~ConverterProcess() {
  close(socket_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ConverterProcess::end() const { shutdown(socket_, SHUT_RDWR); }

bool ConverterProcess::alive() const {
  pollfd closed = {socket_, 0, 0};
  return poll(&closed, 1, 0) == 0;
}

ConvertedDocument ConverterProcess::convert(std::string bytes, const std::string& name,
                                            const DocumentOptions& options) const {
  ConverterPipe document(name), answer_pipe(name);
  ConverterRequest request;
  request.name = name;
  request.pages = options.pages.text();
  request.text_bytes = options.limit.bytes;
  request.reason = options.limit.reason;
  send_request(socket_, request.encoded(), document.out.get(), answer_pipe.in.get());
  document.out.reset();
  answer_pipe.in.reset();
  write_document(document.in.get(), bytes);  // the process reads all of it before it answers
  document.in.reset();
  bytes = {};
  const std::string answered =
      read_answer(answer_pipe.out.get(), options.limit.bytes + kMostHeader);
  ConverterTrailer trailer;
  if (answered.size() < sizeof trailer) throw ConverterGone();
  const size_t end = answered.size() - sizeof trailer;
  std::memcpy(&trailer, answered.data() + end, sizeof trailer);
  if (trailer.mark != ConverterTrailer::kMark) throw ConverterGone();
  check_end(trailer, name);
  ConverterAnswer answer;
  if (!answer.decode(std::string_view(answered).substr(0, end))) {
    refuse_unreadable(name + ": the process that converted it gave no answer");
  }
  if (!answer.error.empty()) throw DocumentError(answer.problem, answer.error);
  if (answer.document.text.size() > options.limit.bytes) refuse_longer_text(name, options.limit);
  answer.document.name = name;
  return {std::move(answer.document), std::move(answer.warnings)};
}

}  // namespace longhaul
