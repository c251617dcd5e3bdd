#!/usr/bin/env python3
"""Writes manual pages and shell completion from the program's own --help.

    tools/make_manual.py PROGRAM FOLDER      writes man1/*.1, bash/longhaul, zsh/_longhaul, fish/longhaul.fish
    tools/make_manual.py --check PROGRAM     checks that every flag of every --help is in what would be written

`cmake --install` runs it with the program that it installs.
"""
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

OPTION = re.compile(r"^  (-[^ ].*?)(?:  +(\S.*))?$")
POSITIONAL = re.compile(r"^  (\S.*?)  +(\S.*)$")


@dataclass
class Option:
    names: list  # -m, --model
    value: str   # MODEL=smollm2-32k; empty: a flag without a value
    text: str

    def choices(self):
        """The fixed values of an option like generic|avx2=generic."""
        values = re.sub(r"=[^|]*$", "", self.value.split(" ")[0])
        plain = re.fullmatch(r"[a-z0-9_]+(\|[a-z0-9_]+)+", values)
        return values.split("|") if plain else []

    def names_file(self):
        return re.match(r"(FILE|FOLDER|DIR|MODEL)\b", self.value) is not None


@dataclass
class Command:
    name: str
    summary: str = ""
    usage: str = ""
    positionals: list = field(default_factory=list)
    groups: list = field(default_factory=list)  # (title, options)
    footer: str = ""

    def options(self):
        return [o for _, options in self.groups for o in options]


def help_of(program, *words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {program} {' '.join(words)} --help: {done.stderr.strip()}")
    return done.stdout.splitlines()


def option_of(left, text):
    left = re.sub(r"( Needs| Excludes): .*", "", left)
    names, _, value = left.partition(" ")
    if "{" in names:  # a flag with an optional value: --sources{3}
        names, value = names[: names.index("{")], "[=N]"
    return Option(names.split(","), re.sub(r" \.\.\.$", "", value.strip()), text)


def read_command(name, lines):
    command = Command(name, lines[0], next((l.removeprefix("Usage: ") for l in lines if l.startswith("Usage: ")), ""))
    title, waiting, footer = None, None, []
    for line in lines[1:]:
        if line.startswith("Usage: "):
            continue
        if re.match(r"^(Example|'longhaul|Names|Examples)", line) or footer:
            footer.append(line)
        elif line.endswith(":") and not line.startswith(" "):
            title = line[:-1]
            if title not in ("Positionals", "Subcommands"):
                command.groups.append((title, []))
        elif waiting and line.startswith("   "):
            waiting.text = (waiting.text + " " + line.strip()).strip()
        elif title == "Positionals" and (match := POSITIONAL.match(line)):
            command.positionals.append((match[1], match[2]))
        elif title not in (None, "Positionals", "Subcommands") and (match := OPTION.match(line)):
            waiting = option_of(match[1], match[2] or "")
            command.groups[-1][1].append(waiting)
    command.footer = "\n".join(footer).strip()
    command.groups = [g for g in command.groups if g[1]]
    return command


def read_program(program):
    lines = help_of(program)
    at = lines.index("Subcommands:")
    names = [re.split(r"  +", l.strip())[0] for l in lines[at + 1 :] if l.startswith("  ")]
    return read_command("", lines), [read_command(n, help_of(program, n)) for n in names]


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + l if l.startswith((".", "'")) else l for l in text.split("\n"))


def man_page(command, version, others):
    title = "longhaul-" + command.name if command.name else "longhaul"
    out = [f'.TH {title.upper()} 1 "" "{version}" "User Commands"', ".SH NAME", f"{roff(title)} \\- {roff(command.summary)}",
           ".SH SYNOPSIS", f".B {roff(command.usage)}"]
    if command.positionals:
        out.append(".SH ARGUMENTS")
        for name, text in command.positionals:
            out += [".TP", f".B {roff(name)}", roff(text)]
    out.append(".SH OPTIONS")
    for group, options in command.groups:
        if group != "Options":
            out.append(f'.SS "{roff(group)}"')
        for option in options:
            value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
            out += [".TP", "\\fB" + roff(", ".join(option.names)) + "\\fR" + value, roff(option.text)]
    if command.footer:
        out += [".SH EXAMPLES", ".nf", roff(command.footer), ".fi"]
    out += [".SH EXIT STATUS", "0 if all went well, 1 if some of several results failed, 2 for an error that the message names, 130 after Ctrl\\-C.",
            ".SH SEE ALSO", ", ".join(f"\\fB{roff(o)}\\fR(1)" for o in others if o != title)]
    return "\n".join(out) + "\n"


def bash(commands):
    lines = ["# bash completion for longhaul", "_longhaul() {", '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags=""',
             "  COMPREPLY=()", "  if [ \"$COMP_CWORD\" -eq 1 ]; then",
             f'    COMPREPLY=($(compgen -W "{" ".join(c.name for c in commands)} --help --version" -- "$word")); return', "  fi",
             '  case "${COMP_WORDS[1]} $before" in']
    for c in commands:
        for o in c.options():
            if o.choices():
                pattern = "|".join(f'"{c.name} {n}"' for n in o.names)
                lines.append(f'    {pattern}) COMPREPLY=($(compgen -W "{" ".join(o.choices())}" -- "$word")); return ;;')
    lines += ["  esac", '  case "${COMP_WORDS[1]}" in']
    for c in commands:
        flags = " ".join(n for o in c.options() for n in o.names if n.startswith("--"))
        lines.append(f'    {c.name}) flags="{flags}" ;;')
    lines += ["  esac", '  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$word"))',
              '  else COMPREPLY=($(compgen -f -- "$word")); fi', "}", "complete -o filenames -F _longhaul longhaul"]
    return "\n".join(lines) + "\n"


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(commands):
    def described(text):
        return quoted(re.sub(r"([\[\]:])", r"\\\1", text))

    lines = ["#compdef longhaul", "_longhaul() {", "  local -a commands", "  commands=("]
    lines += [f"    '{c.name}:{described(c.summary)}'" for c in commands]
    lines += ["  )", "  if (( CURRENT == 2 )); then _describe command commands; return; fi", "  local name=$words[2]",
              "  words=(${words[2,-1]}); (( CURRENT-- ))", "  case $name in"]
    for c in commands:
        lines.append(f"    {c.name}) _arguments -s \\")
        for o in c.options():
            for n in o.names:
                value = ""
                if o.value:
                    kind = f"({' '.join(o.choices())})" if o.choices() else "_files" if o.names_file() else ""
                    value = f":{described(o.value)}:{kind}"
                lines.append(f"      '*{n}[{described(o.text)}]{value}' \\")
        lines.append("      '*:file:_files' ;;")
    return "\n".join([*lines, "  esac", "}", '_longhaul "$@"', ""])


def fish(commands):
    lines = ["# fish completion for longhaul",
             f"set -l commands {' '.join(c.name for c in commands)}"]
    lines += [f"complete -c longhaul -f -n 'not __fish_seen_subcommand_from $commands' -a {c.name} -d '{quoted(c.summary)}'"
              for c in commands]
    for c in commands:
        for o in c.options():
            names = " ".join(("-l " + n[2:]) if n.startswith("--") else ("-s " + n[1:]) if len(n) == 2 else ("-o " + n[1:])
                             for n in o.names)
            value = f" -x -a '{' '.join(o.choices())}'" if o.choices() else " -r" if o.value and o.value != "[=N]" else ""
            lines.append(f"complete -c longhaul -n '__fish_seen_subcommand_from {c.name}' {names}{value} -d '{quoted(o.text)}'")
    return "\n".join(lines) + "\n"


def written(program):
    """The files by name."""
    top, commands = read_program(program)
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split("\n")[0].strip()
    titles = ["longhaul", *("longhaul-" + c.name for c in commands)]
    files = {f"man1/{t}.1": man_page(c, version, titles) for t, c in zip(titles, [top, *commands])}
    return {**files, "bash/longhaul": bash(commands), "zsh/_longhaul": zsh(commands), "fish/longhaul.fish": fish(commands)}


def check(program):
    files = written(program)
    lines = help_of(program)
    missing = []
    for name in [re.split(r"  +", l.strip())[0] for l in lines[lines.index("Subcommands:") + 1 :] if l.startswith("  ")]:
        for flag in sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", " ".join(
                l.split()[0] for l in help_of(program, name) if l.startswith("  -"))))):
            man = files[f"man1/longhaul-{name}.1"].replace("\\-", "-")
            fish_line = re.compile(rf"from {name}'.* -l {flag[2:]}( |$)", re.M)
            for place, has in (("man", flag in man), ("bash", flag in files["bash/longhaul"]),
                               ("zsh", f"*{flag}[" in files["zsh/_longhaul"]), ("fish", bool(fish_line.search(files["fish/longhaul.fish"])))):
                if not has:
                    missing.append(f"{place}: {name} {flag}")
    if missing:
        sys.exit("error: not in the manual: " + ", ".join(missing))
    print(f"{len(files)} files have every flag of --help")


def main():
    if sys.argv[1] == "--check":
        return check(sys.argv[2])
    for name, text in written(sys.argv[1]).items():
        path = pathlib.Path(sys.argv[2]) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


main()
