#pragma once
// Settings of every method that do not cover a prompt of 300 tokens, for what must hold when
// something was forgotten, left out or moved away.

namespace longhaul::testing_support {

constexpr const char* kSmallSettings[] = {
    "dense",
    "streamingllm:recent=64",
    "lminfinite:local=64,limit=64",
    "ntk",
    "ntk:mode=hf",
    "ntk:mode=fixed",
    "trianglemix:window=16,last=16",
    "trianglemix:window=16,last=64,dense=xattention,dense_options=dense_below=0",
    "triangle:window=16,last=16",
    "duo:sparsity=1,sink=4,recent=64",
    "duo:sparsity=1,sink=4,recent=64,prefill_mode=strict_streaming",
    "reattention:local=64,chunk=32,clip=4,fidelity=paper",
    "citrus:cache=standard,k=64,chunk=32",
    "citrus:cache=shared,k=64,chunk=32",
    "citrus:cache=individual,k=64,chunk=32",
    "infllm:n_init=8,n_local=64,block=16,topk=2,cached=4",
    "infllm:n_init=8,n_local=64,block=16,topk=2,cached=4,repr_mode=max",
    "ltri:n_init=8,n_local=64,block=16,topk=2,cached=4",
    "h2o:budget=48,stride=16",
    "h2o:mode=oneshot,budget=64",
    "tova:capacity=64,stride=32",
    "tova:mode=easykv,capacity=48,stride=16",
    "roco:budget=48,stride=16",
    "snapkv:capacity=64,window=16",
    "pyramidkv:capacity=72",
    "minference:dense_below=0,vertical=30,slash=100",
    "minference:patterns=search,search_at=100,dense_below=0",
    "flexprefill:dense_below=0,min_budget=64",
    "xattention:dense_below=0",
    "fastgen:threshold=0.5",
};

}  // namespace longhaul::testing_support
