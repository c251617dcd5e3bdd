#pragma once
// longhaul run --questions: many questions about the same texts. The texts are read once, and the
// replies are decoded together.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/run_flags.h"
#include "documents/documents.h"

namespace longhaul {

struct QuestionLine {
  int64_t line = 0;   ///< its number in the file, from 1
  std::string text;   ///< valid UTF-8, without blanks around it
  std::string error;  ///< why it cannot be asked; empty: nothing
};

/// The questions of a file, one per line, or of standard input ("-"). Blank lines are left out.
/// Throws UserError if it cannot be read or has no question.
std::vector<QuestionLine> read_questions(const std::string& file);

/// Prints the replies in the order of the questions. Failures of a question are printed as one line
/// with the file and the line number. Returns the exit status: 1 if a question failed.
int run_questions(const RunFlags& flags, const std::shared_ptr<const Engine>& engine,
                  const SessionOptions& options, const std::vector<QuestionLine>& questions,
                  const std::vector<Document>& documents);

}  // namespace longhaul
