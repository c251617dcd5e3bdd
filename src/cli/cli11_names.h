#pragma once
// Forward declarations of CLI11's classes. Including its header costs two seconds per source file.

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
