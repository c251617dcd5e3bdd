#pragma once
// The names of CLI11's classes: its header costs two seconds wherever it is included.

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
