#include "cli/line_editor.h"

#include <editline/readline.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <string_view>
#include <utility>

#include "cli/paste.h"
#include "cli/terminal_guard.h"
#include "documents/text_limit.h"

namespace longhaul {
namespace {

// The editor's callback takes no argument.
const CancelFlag* cancel_reading = nullptr;
bool key_came = false;              ///< since the prompt was shown
std::deque<unsigned char> pending;  ///< bytes for the editor before those from the terminal
Pastes pastes;                      ///< pastes in the present line

/// Reads one byte from the terminal; -1 at its end or after Ctrl-C. The editor's own read function
/// would retry when a signal interrupts it, and miss a signal between two reads.
int read_key() {
  constexpr int kGlance = 100;  // milliseconds until a Ctrl-C that interrupted nothing is noticed
  pollfd terminal{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  for (;;) {
    const int ready = poll(&terminal, 1, kGlance);
    if (cancel_reading->requested() || (ready < 0 && errno != EINTR)) return -1;
    if (ready <= 0) continue;
    unsigned char byte = 0;
    const ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count == 1) {
      key_came = true;
      return byte;
    }
    if (count == 0 || errno != EINTR) return -1;
  }
}

constexpr int kWithinKey = 50;  // milliseconds between two bytes of one key
constexpr unsigned char kEscape = 0x1b;

void hand_over(std::string_view bytes) {
  pending.insert(pending.end(), bytes.begin(), bytes.end());
}

/// Handles input after an escape. A paste is read to its end, and its placeholder is passed to the
/// editor. The bytes of any other key are passed on unchanged.
void read_escape() {
  std::string came(1, static_cast<char>(kEscape));
  while (came.size() < kPasteBegins.size() && kPasteBegins.starts_with(came)) {
    if (!input_waits(kWithinKey)) break;
    const int byte = read_key();
    if (byte < 0) break;
    came += static_cast<char>(byte);
  }
  if (came != kPasteBegins) return hand_over(came);
  std::string text;
  while (!text.ends_with(kPasteEnds)) {
    const int byte = read_key();
    if (byte < 0) return;
    text += static_cast<char>(byte);
  }
  text.resize(text.size() - kPasteEnds.size());
  hand_over(pastes.shown(std::move(text)));
}

/// read_key() with pastes replaced for the editor.
int read_byte() {
  while (pending.empty()) {
    const int byte = read_key();
    if (byte != kEscape) return byte;
    read_escape();
  }
  const int byte = pending.front();
  pending.pop_front();
  return byte;
}

constexpr int kReplacement = 0xfffd;

/// The next character as its code point, as the editor expects from a callback; U+FFFD for invalid
/// UTF-8.
int read_character(FILE*) {
  static int left_over = -1;  // byte that ended a broken character
  const int first = left_over >= 0 ? std::exchange(left_over, -1) : read_byte();
  if (first < 0x80) return first;
  if (first < 0xc2 || first > 0xf4) return kReplacement;
  const int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  int character = first & (0x3f >> more);
  for (int i = 0; i < more; ++i) {
    const int byte = read_byte();
    if (byte < 0) return byte;
    if ((byte & 0xc0) != 0x80) {
      left_over = byte;
      return kReplacement;
    }
    character = character << 6 | (byte & 0x3f);
  }
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return surrogate || character > 0x10ffff ? kReplacement : character;
}

/// std::getline with a limit. Returns false at the end.
bool read_piped_line(std::string& line) {
  const TextLimit limit = text_limit();
  std::streambuf& in = *std::cin.rdbuf();
  for (int c = in.sbumpc(); c != EOF; c = in.sbumpc()) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
    if (line.size() > limit.bytes) refuse_longer_text("standard input: a line", limit);
  }
  return !line.empty();
}

/// Sends an escape sequence of this program, bypassing the filter for model output; nothing is sent
/// into a file.
void tell_terminal(const char* sequence) {
  std::FILE* terminal = unguarded_output();
  if (isatty(fileno(terminal)) == 0) return;
  std::fputs(sequence, terminal);
  std::fflush(terminal);
}

/// Characters beyond ASCII have several bytes in UTF-8. The editor writes them and computes their
/// width correctly only in a UTF-8 locale. Numbers keep the C locale's format.
bool prepare_editor() {
  rl_getc_function = read_character;
  rl_outstream = unguarded_output();
  if (std::setlocale(LC_CTYPE, "") != nullptr && MB_CUR_MAX > 1) return true;
  return std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
}

}  // namespace

std::optional<std::string> read_line(const std::string& prompt, CancelFlag& cancel) {
  std::string line;
  if (isatty(STDIN_FILENO) == 0) {
    if (!read_piped_line(line)) return std::nullopt;
    if (line.ends_with('\r')) line.pop_back();  // for a file with Windows line ends
    return line;
  }
  [[maybe_unused]] static const bool once = prepare_editor();
  std::fflush(stdout);  // the editor bypasses its buffer
  cancel_reading = &cancel;
  key_came = false;
  pastes = {};
  tell_terminal("\x1b[?2004h");  // requests marks around pastes
  char* typed = readline(prompt.c_str());
  while (typed == nullptr && key_came && cancel.requested()) {
    cancel.clear();
    key_came = false;
    std::fputs("\n", stdout);
    typed = readline(prompt.c_str());
  }
  tell_terminal("\x1b[?2004l");
  if (typed == nullptr) return std::nullopt;
  line = typed;
  std::free(typed);
  if (!line.empty()) add_history(line.c_str());
  return pastes.put_back(std::move(line));
}

bool input_waits(int milliseconds) {
  if (isatty(STDIN_FILENO) == 0) return false;
  pollfd terminal{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return !pending.empty() || (poll(&terminal, 1, milliseconds) > 0 && terminal.revents == POLLIN);
}

}  // namespace longhaul
