#include "documents/converter_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/sandbox.h"
#include "documents/converter_messages.h"
#include "documents/converters.h"
#include "documents/descriptor.h"

namespace longhaul {
namespace {

constexpr size_t kMostRequestBytes = 64 << 10;
constexpr size_t kOpenFiles = 64;
constexpr double kGraceSeconds = 2;  // so that the limit of the program itself is reached first

struct ReceivedRequest {
  ConverterRequest request;
  Descriptor document, answer;
};

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(to, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the server has ended or does not wait any longer
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

/// Receives the next request. Returns false at the end of the connection.
bool receive(int socket, ReceivedRequest& received) {
  std::string bytes(kMostRequestBytes, '\0');
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  iovec part = {bytes.data(), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
    int numbers[2];
    std::memcpy(numbers, CMSG_DATA(header), sizeof numbers);
    received.document.reset(numbers[0]);
    received.answer.reset(numbers[1]);
  }
  received.request.decode({bytes.data(), static_cast<size_t>(count)});
  return true;
}

/// Reads a pipe to its end.
std::string bytes_of_document(int from) {
  constexpr size_t kPiece = 1 << 20;
  std::string bytes;
  for (;;) {
    const size_t held = bytes.size();
    bytes.resize(held + kPiece);
    const ssize_t n = read(from, bytes.data() + held, kPiece);
    bytes.resize(held + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0 || (n < 0 && errno != EINTR)) return bytes;
  }
}

void limit(int resource, size_t most) {
  const rlimit value = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  setrlimit(static_cast<__rlimit_resource>(resource), &value);
}

/// Lines of this process's standard error that are warnings.
std::vector<std::string> warnings_in(int captured) {
  std::string text(64 << 10, '\0');
  const ssize_t count = read(captured, text.data(), text.size());
  std::string_view rest(text.data(), count > 0 ? static_cast<size_t>(count) : 0);
  std::vector<std::string> warnings;
  constexpr std::string_view kMark = "warning: ";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (line.starts_with(kMark)) warnings.emplace_back(line.substr(kMark.size()));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return warnings;
}

ConverterAnswer answer_of(const ReceivedRequest& received, const ConverterLimits& limits) {
  ConverterAnswer answer;
  try {
    const ConverterRequest& request = received.request;
    DocumentOptions options;
    options.limit = {request.text_bytes, request.reason};
    options.memory = limits.memory;
    if (!request.pages.empty()) options.pages = PageRanges::parse(request.pages);
    answer.document =
        document_of(bytes_of_document(received.document.get()), request.name, options);
    if (answer.document.text.find('\0') != std::string::npos) {
      throw DocumentError(DocumentError::Problem::kUnsupported,
                          request.name + ": holds zero bytes and is no text");
    }
    if (is_blank(answer.document.text)) {
      throw DocumentError(DocumentError::Problem::kNoText,
                          request.name + ": there is no text in it");
    }
    return answer;
  } catch (const DocumentError& error) {
    answer.error = error.what();
    answer.problem = error.problem;
  } catch (const std::bad_alloc&) {
    answer.error = received.request.name + ": its conversion needs too much memory";
    answer.problem = DocumentError::Problem::kTooLarge;
  } catch (const std::exception& error) {
    answer.error = error.what();
  }
  answer.document = {};
  return answer;
}

/// Converts one document in a process of its own.
[[noreturn]] void convert_in_child(const ReceivedRequest& received, const ConverterLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  int captured[2];
  if (pipe2(captured, O_CLOEXEC | O_NONBLOCK) != 0) _exit(1);
  dup2(captured[1], STDERR_FILENO);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, kOpenFiles);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limit(RLIMIT_DATA, limits.memory);  // tables of sanitizers count too
#endif
  limit(RLIMIT_CPU, static_cast<size_t>(std::min(conversion_seconds(), 1e6)) + 1);
  if (limits.sandbox) enter_sandbox({}, {.programs = true});
  ConverterAnswer answer = answer_of(received, limits);
  answer.warnings = warnings_in(captured[0]);
  write_all(received.answer.get(), answer.encoded());
  _exit(0);
}

/// Waits until the process ends, at most `seconds`. `life`: a pipe that closes with the process.
/// Returns false if the process had to be killed.
bool await_child(pid_t child, int life, double seconds) {
  const Stopwatch watch;
  for (;;) {
    const double left = seconds - watch.seconds();
    pollfd closed = {life, 0, 0};
    const int ready = left > 0 ? poll(&closed, 1, static_cast<int>(left * 1000) + 1) : 0;
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) break;
  }
  kill(-child, SIGKILL);
  kill(child, SIGKILL);  // if it is not yet in its group
  return false;
}

/// Runs the conversion of one document, and appends to its answer how it ended. It reads no byte of
/// the document.
[[noreturn]] void supervise(ReceivedRequest& received, const ConverterLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGCHLD, SIG_DFL);
  int life[2];
  if (pipe2(life, O_CLOEXEC) != 0) _exit(1);
  const pid_t child = fork();
  if (child == 0) {
    close(life[0]);
    convert_in_child(received, limits);
  }
  close(life[1]);
  received.document.reset();
  ConverterTrailer trailer;
  if (child < 0) {
    trailer.status = W_EXITCODE(1, 0);
  } else {
    const bool ended = await_child(child, life[0], conversion_seconds() + kGraceSeconds);
    trailer.too_slow = ended ? 0 : 1;
    kill(-child, SIGKILL);  // programs that it has started
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    trailer.status = status;
  }
  write_all(received.answer.get(), {reinterpret_cast<const char*>(&trailer), sizeof trailer});
  _exit(0);
}

}  // namespace

void run_converter(int socket, const ConverterLimits& limits) {
  prctl(PR_SET_NAME, "longhaul-conv");
  // Signals of the terminal and of a service manager reach the whole group. The server ends first.
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(ignored, SIG_IGN);
  std::signal(SIGCHLD, SIG_IGN);  // ended supervisors leave no zombies
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (socket != 3) {
    dup2(socket, 3);
    socket = 3;
  }
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  close_range(4, ~0U, 0);  // listening sockets end with the server
  for (;;) {
    ReceivedRequest received;
    if (!receive(socket, received)) _exit(0);
    if (received.document.get() < 0 || received.answer.get() < 0) continue;
    const pid_t supervisor = fork();
    if (supervisor != 0) continue;
    close(socket);
    supervise(received, limits);
  }
}

}  // namespace longhaul
