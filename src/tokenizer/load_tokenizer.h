#pragma once
// Loads tokenizers. All functions throw UserError with one line that names the file or key.

#include <filesystem>

#include "tokenizer/tokenizer.h"

namespace longhaul {

class Checkpoint;

/// The tokenizer of a checkpoint: GGUF metadata (tokenizer.ggml.*) or the files of a Hugging Face
/// folder (tokenizer.json, else vocab.json + merges.txt, else tekken.json, else tokenizer.model,
/// SentencePiece's or a tiktoken file).
Tokenizer load_tokenizer(const Checkpoint& checkpoint);

/// Variant for a Hugging Face folder without weights.
Tokenizer load_tokenizer_folder(const std::filesystem::path& folder);

}  // namespace longhaul
