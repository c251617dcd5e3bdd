#pragma once
// Forward declarations of CLI11's classes: its header costs two seconds per source.

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
