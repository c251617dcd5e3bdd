#pragma once
// Loads tokenizers. All functions throw a UserError that names the file or key if the tokenizer is
// missing or invalid.

#include <filesystem>

#include "tokenizer/tokenizer.h"

namespace longhaul {

class Checkpoint;

/// Loads the tokenizer of a checkpoint. The tokenizer is in GGUF metadata (tokenizer.ggml.*) or in
/// the files of a Hugging Face folder. In a folder, the first of these is used: tokenizer.json,
/// vocab.json with merges.txt, tekken.json, tokenizer.model (SentencePiece's or a tiktoken file).
Tokenizer load_tokenizer(const Checkpoint& checkpoint);

/// Loads the tokenizer of a Hugging Face folder without weights.
Tokenizer load_tokenizer_folder(const std::filesystem::path& folder);

}  // namespace longhaul
