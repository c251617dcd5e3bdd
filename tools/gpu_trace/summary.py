#!/usr/bin/env python3
"""Where a GPU's time went, kernel by kernel: reads what libgpu_trace.so (gpu_trace.cc) wrote.

    tools/gpu_trace/summary.py trace.tsv
    tools/gpu_trace/summary.py trace.tsv --last 10 --per 1024     # 32 layers x 32 tokens: us a layer
    tools/gpu_trace/summary.py trace.tsv --from 1200 --to 1450 --grid --json

A kernel may begin while the one before ends, and several may run at once. So each name has three times:
total, the sum of its runs; net, in which at least one of its runs was going on; own, in which time that
several names shared is divided among them, so that this column adds up to the time the card was busy.
share is own's part of that. Gaps are where nothing ran, copies included. Of several cards times are added up.
--per is right where a kernel that runs once a layer is counted 1.00 times.
"""
import argparse
import collections
import json
import pathlib
import sys

Activity = collections.namedtuple("Activity", "device start end grid block name")
LONG_GAP = 2000  # ns


def read(lines):
    """The activities of a trace, in the order in which they began; ValueError names a wrong line."""
    found = []
    for number, line in enumerate(lines, 1):
        fields = line.rstrip("\n").split("\t", 5)
        try:
            device, start, end = map(int, fields[:3])
            found.append(Activity(device, start, end, *fields[3:]))
        except (ValueError, TypeError):
            raise ValueError(f"line {number} is no line of a trace: {line[:80]!r}") from None
    return sorted(found, key=lambda each: each.start)


def window(activities, options):
    """Those that begin in the window asked for; its milliseconds count from the first of all."""
    begin, end = activities[0].start, max(each.end for each in activities)
    low = begin + options.first * 1e6
    high = end + 1 if options.to is None else begin + options.to * 1e6
    if options.last is not None:
        low = max(low, end - (end - begin) * options.last / 100)
    return [each for each in activities if low <= each.start < high]


def sweep(activities, name_of):
    """Of one card: each name's net and own time, the time that it was busy, and its gaps."""
    net, own = collections.Counter(), collections.Counter()
    edges = sorted([(each.start, 1, name_of(each)) for each in activities] +
                   [(each.end, -1, name_of(each)) for each in activities])
    running, before, busy, gaps = collections.Counter(), edges[0][0], 0, []
    for now, step, name in edges:
        if now > before:
            names = [each for each, count in running.items() if count]
            for each in names:
                net[each] += now - before
                own[each] += (now - before) / len(names)
            if names:
                busy += now - before
            else:
                gaps.append(now - before)
            before = now
        running[name] += step
    return net, own, busy, gaps


def summary(activities, name_of, per=1):
    """Times in us, divided by `per` as counts are."""
    rows, cards = collections.defaultdict(collections.Counter), []
    for device in sorted({each.device for each in activities}):
        here = [each for each in activities if each.device == device]
        net, own, busy, gaps = sweep(here, name_of)
        for each in here:
            rows[name_of(each)].update(count=1, total=each.end - each.start)
        for name in net:
            rows[name].update(net=net[name], own=own[name])
        long = [gap for gap in gaps if gap > LONG_GAP]
        cards.append({"device": device, "span_us": (busy + sum(gaps)) / 1000 / per, "busy_us": busy / 1000 / per,
                      "gaps_us": sum(gaps) / 1000 / per, "long_gaps": len(long) / per,
                      "long_gaps_us": sum(long) / 1000 / per})
    busy = sum(card["busy_us"] for card in cards)
    kernels = [{"name": name, "count": row["count"] / per, "mean_us": row["total"] / row["count"] / 1000,
                **{f"{key}_us": row[key] / 1000 / per for key in ("total", "net", "own")},
                "share": row["own"] / 1000 / per / busy if busy else 0.0} for name, row in rows.items()]
    return {"per": per, "kernels": sorted(kernels, key=lambda row: -row["own_us"]), "devices": cards}


def table(found, most):
    """The lines to print: milliseconds, or of a layer (--per) microseconds."""
    per, unit, scale = found["per"], "ms", 1000
    if per != 1:
        unit, scale = "us", 1
    count = f"{{:{',.0f' if per == 1 else ',.2f'}}}"
    head = ("count", f"total {unit}", "mean us", f"net {unit}", f"own {unit}", "share", "name")
    rows = [(count.format(row["count"]), f"{row['total_us'] / scale:,.3f}", f"{row['mean_us']:,.2f}",
             f"{row['net_us'] / scale:,.3f}", f"{row['own_us'] / scale:,.3f}", f"{row['share']:.1%}", row["name"])
            for row in found["kernels"]]
    sums = [sum(row[key] for row in found["kernels"]) for key in ("count", "total_us", "own_us")]
    whole = (count.format(sums[0]), f"{sums[1] / scale:,.3f}", "", "", f"{sums[2] / scale:,.3f}", "", "all")
    shown = [head, *rows[:most], whole]
    widths = [max(len(row[i]) for row in shown) for i in range(6)]
    for row in shown:
        yield "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths)), row[6]])
    if len(rows) > most:
        yield f"{len(rows) - most} more names are not shown (--top)"
    for card in found["devices"]:
        yield (f"cuda:{card['device']}: {card['span_us'] / scale:,.3f} {unit} from first to last, busy "
               f"{card['busy_us'] / scale:,.3f}, gaps {card['gaps_us'] / scale:,.3f}, of which "
               f"{count.format(card['long_gaps'])} above {LONG_GAP / 1000:g} us take {card['long_gaps_us'] / scale:,.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("--last", type=float, metavar="PERCENT", help="only what began in the last part of the time")
    parser.add_argument("--from", dest="first", type=float, default=0, metavar="MS", help="only what began from here")
    parser.add_argument("--to", type=float, metavar="MS", help="and before this")
    parser.add_argument("--device", type=int, help="only this card's")
    parser.add_argument("--per", type=int, default=1, metavar="N", help="divide by layers x passes: us of one")
    parser.add_argument("--grid", action="store_true", help="names with their grids and blocks apart")
    parser.add_argument("--top", type=int, default=40, metavar="N", help="so many names (40)")
    parser.add_argument("--json", action="store_true", help="all names; times in us")
    options = parser.parse_args()
    if options.per < 1:
        parser.error("--per: a number from 1 on")
    try:
        activities = read(options.trace.read_text(encoding="utf-8").splitlines())
        chosen = window(activities, options) if activities else []
    except (OSError, ValueError) as error:
        sys.exit(f"error: {options.trace}: {error}")
    chosen = [each for each in chosen if options.device in (None, each.device)]
    if not chosen:
        sys.exit(f"error: {options.trace}: none of its {len(activities)} activities is in what was asked for")
    found = summary(chosen, lambda it: f"{it.name} {it.grid} {it.block}" if options.grid else it.name, options.per)
    print(json.dumps(found, indent=1) if options.json else "\n".join(table(found, options.top)))


if __name__ == "__main__":
    main()
