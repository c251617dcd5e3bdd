"""The comparison as a markdown table."""

MEBIBYTE = 1 << 20


def rate(value):
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def peer_cells(ours, engine, test, limit):
    value = engine.median(test, limit) if engine else None
    ratio = f"{ours / value:.2f}" if ours and value else "-"
    variant = f" ({engine.variant})" if engine and engine.variant and value else ""
    return f"{rate(value)}{variant} | {ratio}"


def least_memory(engines):
    """The variant with the smallest peak, which favours the peer."""
    return min((engine for engine in engines if engine.peak), key=lambda engine: engine.peak,
               default=None)


def memory_row(groups, names):
    """A Python peer's imports are part of its peak, and told apart."""
    cells = []
    us = least_memory(groups["longhaul"])
    for name in names:
        least = least_memory(groups[name])
        imports = least.facts.get("imports_rss_bytes", 0) if least else 0
        note = f" ({imports / MEBIBYTE:,.0f} of it imports)" if imports else ""
        cells.append(f"{least.peak / MEBIBYTE:,.0f}{note}" if least else "-")
        if name != "longhaul":
            cells.append(f"{us.peak / least.peak:.2f}" if us and least else "-")
    return "| peak memory, MiB | " + " | ".join(cells) + " |"


def markdown(options, processor, engines, tests, best_of):
    limit = options.disturbance
    names = list(dict.fromkeys(["longhaul"] + [engine.name for engine in engines]))
    groups = {name: [engine for engine in engines if engine.name == name] for name in names}
    peers = names[1:]
    lines = [f"Tokens per second, {options.threads} threads, {processor}. Median of {options.rounds} "
             "rounds; ratio = longhaul / peer.", ""]
    lines.append("| test | longhaul | " + " | ".join(f"{name} | ratio" for name in peers) + " |")
    lines.append("|---" * (2 + 2 * len(peers)) + "|")
    for test in tests:
        kind, length = test
        us = best_of(groups["longhaul"], test, limit)
        ours = us.median(test, limit) if us else None
        label = f"prefill of {length}" if kind == "prefill" else f"decode at depth {length}"
        cells = [peer_cells(ours, best_of(groups[name], test, limit), test, limit) for name in peers]
        lines.append(f"| {label} | {rate(ours)} | " + " | ".join(cells) + " |")
    lines.append(memory_row(groups, names))
    return "\n".join(lines)
