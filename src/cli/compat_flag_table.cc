#include "cli/compat_flag_table.h"

namespace longhaul {
namespace {

using enum CompatFlagKind;

constexpr std::string_view kModels = "run perplexity bench eval advise tokenize heads merge serve";
constexpr std::string_view kNoServers = "run perplexity bench eval advise tokenize heads merge";
constexpr std::string_view kReads = "run perplexity bench eval advise heads serve";

constexpr std::string_view kNoServer =
    "'longhaul serve' is the server; other commands load their model, answer and end";
constexpr std::string_view kOnePrompt = "one prompt is answered at a time";
constexpr std::string_view kWholeModel =
    "a model is on one device, or on those that --device names";

constexpr CompatFlag kFlags[] = {
    {"run", "-cnv --conversation -if --interactive-first", kSwitch, "-i"},
    {"run", "-no-cnv --no-conversation -st --single-turn", kNote, "without -i there is one answer"},
    {"run", "--ctx-size", kRename, "--ctx"},
    {"perplexity", "--ctx-size", kRename, "--ctx"},
    {"run", "--n-predict --predict", kRename, "--tokens"},
    {"run", "--temperature", kRename, "--temp"},
    {"run", "--repeat-last-n", kRename, "--repeat-last"},
    {"run", "-sys --system-prompt", kRename, "--system"},
    {"run", "-r --reverse-prompt", kRename, "--stop"},
    {"run", "--seed -s", kUnless, "--seed", "-1"},
    {"run", "-np --parallel", kNoteValue, kOnePrompt},
    {"run", "--in-prefix --in-suffix", kRefuse,
     "the model's chat template surrounds a message; --raw omits it"},
    {"run", "--prompt-cache", kRefuse,
     "--save FILE stores the prompt's keys and values, --load FILE starts from them"},
    {"run", "--prompt-cache-all --prompt-cache-ro", kRefuse, "see --save FILE and --load FILE"},
    {"run", "--no-context-shift", kNote, "a context is never shifted"},
    {"run", "--keep --context-shift", kRefuse,
     "a context is never shifted; --attention streamingllm evicts the middle"},
    {"run", "--grammar-file", kRename, "--grammar"},
    {"run", "-j --json-schema-file -jf --format", kRename, "--json-schema"},
    {"run",
     "--no-display-prompt --log-disable --simple-io --no-warmup --warmup -co --no-escape "
     "--swa-full "
     "-mli --multiline-input --nowordwrap --no-perf",
     kNote, ""},
    {"run", "--color", kNoteSwitch, ""},
    {"run", "-e --escape", kNote,
     "\\n in a prompt stays as it is; the shell's $'...' writes new lines"},
    {"run", "--verbose-prompt", kNote, "'longhaul tokenize' shows a text's tokens"},
    {"run", "--offline", kNote, "a fetched model is used without any request"},
    {"run", "-cb --cont-batching -nocb --no-cont-batching", kNote, kOnePrompt},
    {"run", "--cache-reuse -cram --cache-ram", kNoteValue,
     "the common beginning of two prompts is always reused"},
    {"run", "--reasoning-format", kNoteValue, "a model's thinking is part of its reply"},
    {"run", "--num-ctx", kRename, "--ctx"},
    {"run", "--num-predict", kRename, "--tokens"},
    {"run", "-ins --instruct", kSwitch, "-i"},
    {"run", "-sysf --system-prompt-file", kRefuse, "use --system \"$(cat FILE)\""},
    {"run", "-md --model-draft --draft --draft-max --draft-min", kRefuse,
     "draft models are not supported"},
    {"run", "--chat-template-kwargs", kRefuse,
     "templates get no arguments; --chat-template FILE uses one with other settings"},
    {"serve", "--host --port", kRefuse, "--listen ADDRESS:PORT names both"},
    {"serve", "--api-key", kRefuse, "--api-key-file FILE holds hashes of the keys"},
    {"serve", "--ctx-size", kRename, "--ctx"},
    {"serve", "-np --n-parallel", kRename, "--parallel"},
    {"serve", "-a", kRename, "--alias"},
    {"serve", "--temperature", kRename, "--temp"},
    {"serve", "--chat-template-file", kRename, "--chat-template"},
    {"serve", "--no-webui", kSwitch, "--no-web"},
    {"serve",
     "--jinja -cb --cont-batching --slots --props --webui --no-warmup --warmup --log-disable",
     kNote, ""},
    {"serve", "-to --timeout --threads-http", kNoteValue,
     "a reply may last as long as its client reads it"},
    {"serve", "--slot-save-path", kRefuse, "--cache-dir FOLDER keeps the prefix cache"},
    {"serve", "--embedding --embeddings --reranking", kRefuse, "embeddings are not served"},
    {kNoServers, "--host --port --api-key --slots --metrics --webui --no-webui -to --timeout",
     kRefuse, kNoServer},
    {kModels, "--list-devices", kRefuse, "'longhaul devices' lists them"},
    {kModels, "-hft --hf-token", kRefuse, "HF_TOKEN in the environment holds it"},
    {kModels, "-ot --override-tensor -ncmoe --n-cpu-moe", kNoteValue, kWholeModel},
    {kModels, "-cmoe --cpu-moe", kNote, kWholeModel},
    {"run", "-v --verbose --perf --show-timings", kNote,
     "the figures follow every reply; -q omits them"},
    {"run", "--keepalive", kNoteValue, "no model stays loaded between commands"},
    {"run", "--ignore-eos", kRefuse, "a reply ends where the model ends it"},
    {"run", "--think --hidethinking --reasoning-budget", kRefuse,
     "the model's template decides about thinking; --chat-template qwen3-no-think has none"},
    {"run", "-bf --binary-file", kRename, "--file"},
    {"run", "--jinja", kNote, "the model's template is always run (--chat-template: another)"},
    {"run", "--chat-template-file", kRename, "--chat-template"},
    {"run",
     "--logit-bias --mirostat --typical --dry-multiplier --xtc-probability --top-n-sigma "
     "--presence-penalty "
     "--frequency-penalty --samplers --sampler-seq",
     kRefuse, "sampling has --temp, --top-k, --top-p, --min-p and --repeat-penalty only"},
    {"perplexity", "-f --file", kRename, ""},
    {"bench", "-p --n-prompt", kUnless, "--prompt", "0"},
    {"bench", "-n --n-gen", kRename, "--gen"},
    {"bench", "-d --n-depth", kRename, "--depth"},
    {"bench", "-pg", kRefuse,
     "--prompt N --depth N --gen M prefills N tokens and decodes M at that depth"},
    {"bench", "-o --output", kFormat, ""},
    {kReads, "-ctk --cache-type-k -ctv --cache-type-v", kSideType, ""},
    {kReads, "-ub --ubatch-size", kRename, "--chunk"},
    {kReads, "-b --batch-size", kNoteValue,
     "a prefill chunk has --chunk tokens; there is no other batch"},
    {kReads, "-fa --flash-attn", kNoteSwitch,
     "attention never stores all scores; there is nothing to enable"},
    {kModels, "-ngl --n-gpu-layers --gpu-layers", kNoteValue,
     "layers are not divided; --device cuda puts the whole model on a GPU"},
    {kModels, "-sm --split-mode -mg --main-gpu -ts --tensor-split", kNoteValue,
     "--device cuda:N names the GPU, --device cuda:0,1 several that share the model"},
    {kModels, "-dev", kRename, "--device"},
    {kModels, "-tb --threads-batch", kNoteValue, "--threads is for prefill and decode"},
    {kModels, "--numa --prio --poll -C --cpu-mask", kNoteValue, "the system places the threads"},
    {kModels, "-lv --verbosity --log-verbosity", kNoteValue, ""},
    {kModels, "-nkvo --no-kv-offload -kvu --kv-unified", kNote,
     "keys and values are on the device of the model"},
    {kModels, "-fit --fit", kNoteSwitch, "a prompt that does not fit is refused before prefill"},
    {kModels, "--override-kv", kRefuse, "a model's metadata cannot be changed"},
    {kModels, "--no-mmap", kNote, "weights are always mapped"},
    {kModels, "--mlock", kNote, "weights are mapped and not locked"},
    {kModels, "-hf -hfr", kRename, "--hf-repo"},
    {"inspect", "-m --model", kRename, ""},
    {"inspect", "-hf -hfr --hf-repo", kRefuse, "'longhaul inspect hf:OWNER/REPO' names it"},
    {kModels, "-hff --hf-file", kRefuse, "-hf OWNER/REPO:FILE names a file of a repository"},
    {kModels, "-mu --model-url", kRename, "--model"},
    {kModels, "--lora-scaled", kRefuse, "use --lora FILE:SCALE"},
    {kModels,
     "--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx "
     "--yarn-ext-factor --yarn-attn-factor --yarn-beta-fast --yarn-beta-slow",
     kRefuse, "the model's own scaling is used; --attention ntk goes beyond the trained length"},
    {kModels, "--mmproj --image", kRefuse, "not supported"},
};

constexpr CommandCompatFlag kCommands[] = {
    {"list", "models", "", ""},
    {"ls", "models", "", ""},
    {"ps", "models", "", "no model stays loaded between commands; these are at hand"},
    {"show", "inspect", "--brief", ""},
    {"chat", "run", "-i", ""},
    {"cli", "run", "", ""},
    {"server", "", "", kNoServer},
    {"stop", "", "", kNoServer},
    {"create", "", "", "a model is a GGUF file or a Hugging Face folder, given with -m"},
    {"rm", "", "", "'longhaul models' shows the path of a model; remove the file there"},
    {"cp", "", "", "'longhaul models' shows the path of a model; copy the file there"},
    {"push", "", "", "models are not uploaded"},
    {"version", "--version", "", ""},
    {"quantize", "", "", "'longhaul pull hf:OWNER/REPO:TYPE' fetches a model in a smaller type"},
};

constexpr ChatCompatFlag kChat[] = {
    {"/set", "flags set it at the start of a chat: --ctx, --temp, --seed, --system, ..."},
    {"/show", "'longhaul inspect MODEL --brief' shows a model"},
    {"/load", "'longhaul run MODEL' begins a chat with another model"},
    {"/save", "run -i --save FILE stores the texts of a chat; its conversation is not stored"},
    {"/read", "-f FILE gives a chat a text at its start"},
    {"/regen", "a reply cannot be sampled again; ask once more"},
};

}  // namespace

std::span<const CompatFlag> flag_compat_flags() { return kFlags; }
std::span<const CommandCompatFlag> command_compat_flags() { return kCommands; }
std::span<const ChatCompatFlag> chat_compat_flags() { return kChat; }

}  // namespace longhaul
