"""Random templates and their variables, to compare the interpreter with jinja2. They use the functions of chat templates and
are often wrong on purpose. They omit values that print an address (functions, generators), integers beyond 64 bits, and
Markup, which the interpreter does not have.
"""

TEXTS = ["", " ", "a", "Hello, World", "  padded \n", "line one\nline two\r\nthree\n\n", "naïve Straße 世界 🦙", "a,b,,c", "<|im_end|>",
         "x=1;y=2", "'quoted' \"twice\"", "back\\slash\ttab", "UPPER lower", "{\"k\": [1, 2]}", "%s and %d", "{} {name}", "12", "-3.5",
         "</think>\n\nanswer", "\u00a0nbsp\u2003em\u200b", "<b>&amp;</b>"]
STRING_METHODS = ["strip()", "lstrip()", "rstrip()", "strip('ae ')", "upper()", "lower()", "title()", "capitalize()", "split()",
                  "split(',')", "split(' ', 1)", "rsplit(',', 1)", "splitlines()", "startswith('a')", "endswith(('a', 'o'))",
                  "replace('l', 'LL')", "replace('', '-')", "replace('a', '', 1)", "find('o')", "rfind('o')", "count('l')",
                  "isdigit()", "isalpha()", "isupper()", "isspace()", "join(['1', '2'])", "partition(',')", "rpartition(',')",
                  "zfill(6)", "center(9, '*')", "ljust(8)", "rjust(8, '.')", "swapcase()", "removeprefix('He')",
                  "removesuffix('ld')", "format(1, name='n')", "rstrip('\\n')", "split('</think>')[-1]", "index('x')", "split(None, 1)",
                  "rsplit(None, 1)", "isalnum()", "split('')"]
STRING_FILTERS = ["trim", "upper", "lower", "title", "capitalize", "length", "reverse", "list", "first", "last", "int", "float",
                  "string", "indent", "indent(2, true)", "indent(2, blank=true)", "replace('a', 'b')", "truncate(8)", "truncate(8, true)",
                  "truncate(9, false, '..', 0)", "wordcount", "tojson", "default('d')", "default('d', true)", "center(12)", "int(7)",
                  "trim('a')", "format(3)", "unique | list", "sort | join", "join('-')"]
LIST_FILTERS = ["length", "first", "last", "join(', ')", "reverse | list", "sort", "sort(reverse=true)", "unique | list", "sum", "min",
                "max", "list", "tojson", "map('string') | list", "map('upper') | join", "select('string') | list",
                "reject('number') | list", "select | list", "batch(2) | list", "batch(2, 0) | list", "string", "count",
                "tojson(indent=2)", "select('in', ['a', 1]) | list", "map('length') | list", "sort(case_sensitive=true)"]
DICT_FILTERS = ["length", "tojson", "tojson(indent=4)", "items | list", "list", "dictsort", "dictsort(by='value')", "string",
                "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "default({})", "tojson(ensure_ascii=true)"]
MESSAGES_FILTERS = ["map(attribute='role') | join(',')", "selectattr('role', 'equalto', 'user') | list | length", "length",
                    "rejectattr('n') | map(attribute='content') | list", "map(attribute='n', default=0) | list",
                    "groupby('role') | list | length", "sum(attribute='n')", "sort(attribute='role') | map(attribute='content') | list",
                    "selectattr('n', 'defined') | list", "first", "last", "max(attribute='content')", "join(':', attribute='role')",
                    "unique(attribute='role') | list | length", "tojson", "selectattr('n') | first"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "iterable", "sequence", "boolean", "true",
         "false", "odd", "even", "divisibleby 2", "divisibleby(3)", "in [1, 'a']", "equalto 'a'", "eq(1)", "ne 1", "gt 1", "lt(2)", "upper",
         "lower", "sameas true", "not defined", "not none", "not string", "callable"]


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.names = ["s", "t", "n", "f", "b", "l", "d", "messages", "nothing", "absent", "ns.x"]
        self.depth = 0

    def literal(self):
        r = self.rng
        return r.choice([lambda: repr(r.choice(TEXTS)), lambda: str(r.randrange(-3, 12)), lambda: r.choice(["1.5", "2.0", "0.1", "1e3"]),
                         lambda: r.choice(["true", "false", "none", "True", "None"]),
                         lambda: "[" + ", ".join(self.literal() for _ in range(r.randrange(3))) + "]",
                         lambda: "(" + self.literal() + ", " + self.literal() + ")",
                         lambda: "{'k': " + self.literal() + ", 'a b': " + self.literal() + "}"])()

    def index(self):
        r = self.rng
        part = lambda: r.choice(["", "0", "1", "-1", "2", "-3", "100"])
        return r.choice(["[0]", "[-1]", "[7]", f"[{part()}:{part()}]", f"[{part()}:{part()}:{r.choice(['1', '-1', '2', '-2'])}]", "['k']",
                         "['content']", ".content", ".role", ".k", ".nope", "[n]", ".0", ".items() | list", ".get('k', 5)", ".keys() | list",
                         ".values() | list", ".index('a')", ".count(1)"])

    def expression(self):
        r = self.rng
        self.depth += 1
        try:
            if self.depth > 4:
                return r.choice([self.literal(), r.choice(self.names)])
            e = self.expression
            return r.choice([
                self.literal, lambda: r.choice(self.names), lambda: r.choice(self.names),
                lambda: f"({e()} {r.choice(['+', '-', '*', '/', '//', '%', '~', '~', '+', '**' if r.random() < 0.1 else '+'])} {e()})",
                lambda: f"{e()} {r.choice(['==', '!=', '<', '>', '<=', '>=', 'in', 'not in'])} {e()}",
                lambda: f"({e()} {r.choice(['and', 'or'])} {e()})", lambda: f"not {e()}", lambda: f"({e()} if {e()} else {e()})",
                lambda: f"({e()} if {e()})", lambda: f"{r.choice(self.names)} is {r.choice(TESTS)}", lambda: f"({e()}) is {r.choice(TESTS)}",
                lambda: f"({e()}){self.index()}", lambda: f"{r.choice(self.names)}{self.index()}",
                lambda: f"(s ~ t).{r.choice(STRING_METHODS)}", lambda: f"s.{r.choice(STRING_METHODS)}", lambda: f"t.{r.choice(STRING_METHODS)}",
                lambda: f"s | {r.choice(STRING_FILTERS)}", lambda: f"({e()}) | {r.choice(STRING_FILTERS)}",
                lambda: f"l | {r.choice(LIST_FILTERS)}", lambda: f"({e()}) | {r.choice(LIST_FILTERS)}", lambda: f"d | {r.choice(DICT_FILTERS)}",
                lambda: f"messages | {r.choice(MESSAGES_FILTERS)}", lambda: f"'%s|%r|%5s' % ({e()}, {e()}, {e()})",
                lambda: f"'%.2f %03d %x' % (f, n, {r.randrange(300)})", lambda: f"range({r.randrange(5)}) | list", lambda: f"-({e()})",
                lambda: f"dict(a={e()}, b=1) | tojson", lambda: f"{e()} < {e()} < {e()}", lambda: f"[{e()}, {e()}] | string",
                lambda: f"-{r.choice(self.names)} | string", lambda: f"({e()}) | round({r.choice(['', '1', '2'])})",
                lambda: f"({e()}) | default({e()}) | abs", lambda: f"m({e()})" if "m" in self.macros else "s",
            ])()
        finally:
            self.depth -= 1

    def tag(self, inside, variable=False):
        r = self.rng
        sign = lambda: r.choice(["", "", "-"] if variable else ["", "", "-", "+"])
        a, b = ("{{", "}}") if variable else ("{%", "%}")
        return f"{a}{sign()} {inside} {sign()}{b}"

    def space(self):
        return self.rng.choice(["", "", "\n", " ", "\n  ", "  \n", " text ", "\n\n", "x\n", "\t", "  text\n   "])

    def body(self, level):
        r = self.rng
        out = self.space()
        for _ in range(r.randrange(1, 4)):
            out += self.statement(level) + self.space()
        return out

    def statement(self, level):
        r, tag = self.rng, self.tag
        if level > 2 or r.random() < 0.4:
            return tag(self.expression(), True)
        body = lambda: self.body(level + 1)
        kind = r.randrange(12)
        if kind == 0:
            middle = tag("elif " + self.expression()) + body() if r.random() < 0.3 else ""
            other = tag("else") + body() if r.random() < 0.5 else ""
            return tag("if " + self.expression()) + body() + middle + other + tag("endif")
        if kind in (1, 2):
            over = r.choice(["messages", "l", "d", "s", "range(3)", "d.items()", "absent", self.expression()])
            target = r.choice(["x", "x", "k, v"])
            condition = " if " + r.choice(["x", "loop", "not x", "x != 'a'"]) if r.random() < 0.2 else ""
            loop = tag(r.choice(["loop.index", "loop.first", "loop.last", "loop.revindex0", "loop.previtem", "loop.length", "loop.nextitem",
                                 "loop.cycle('a', 'b')", "loop.depth"]), True)
            control = tag("if loop.index0 == 1") + tag(r.choice(["break", "continue"])) + tag("endif") if r.random() < 0.3 else ""
            other = tag("else") + body() if r.random() < 0.3 else ""
            saved, self.names = self.names, self.names + ["x", "v"]
            text = tag(f"for {target} in {over}{condition}") + loop + control + body() + other + tag("endfor")
            self.names = saved
            return text
        if kind == 3:
            name = r.choice(["s", "y", "n"])
            text = tag(f"set {name} = {self.expression()}")
            if "y" not in self.names and name == "y":
                self.names = self.names + ["y"]
            return text
        if kind == 4:
            return tag(f"set ns.x = {self.expression()}")
        if kind == 5:
            return tag("set y" + r.choice(["", " | upper", " | trim | length"])) + body() + tag("endset") + tag("y", True)
        if kind == 6:
            text = tag("macro m(p, q='d')") + tag("p ~ q ~ varargs | length", True) + body() + tag("endmacro")
            self.macros.add("m")
            return text + tag("m(1)", True) + tag("m(2, q=3)", True)
        if kind == 7:
            return tag("filter " + r.choice(["upper", "trim", "replace('e', '3') | lower", "indent"])) + body() + tag("endfilter")
        if kind == 8:
            return tag(f"with w = {self.expression()}, s = 'inner'") + body() + tag("endwith")
        if kind == 9:
            return "{%- raw %} {{ raw }} {% endraw -%}" if r.random() < 0.5 else "{#- a comment\n #}\n"
        if kind == 10:
            return tag("generation") + body() + tag("endgeneration")
        return (tag("macro c()") + "[" + tag("caller(1)", True) + "]" + tag("endmacro") + tag("call(u) c()") + tag("u", True) + body() +
                tag("endcall"))

    macros = frozenset()


def random_template(rng):
    maker = Maker(rng)
    maker.macros = set()
    if rng.random() < 0.6:  # one short expression, because most longer ones end with an error
        maker.depth = 2
        text = "{% set ns = namespace(x=1) %}" + maker.space() + maker.tag(maker.expression(), True) + maker.space()
    else:
        text = maker.tag("set ns = namespace(x=1)") + "".join(maker.body(0) for _ in range(rng.randrange(1, 3)))
    values = {"s": rng.choice(TEXTS), "t": rng.choice(TEXTS), "n": rng.randrange(-2, 9), "f": rng.choice([0.5, 2.0, 1e20, -0.125, 3.14159]),
              "b": rng.random() < 0.5, "l": rng.choice([[], ["a", "B", "c"], [3, 1, 2], ["a", 1, None], [["x"], []], ["b", "a", "b"]]),
              "d": rng.choice([{}, {"k": 1, "b": "two"}, {"k": {"n": [1, 2.5, None, True]}, "content": "c"}]), "nothing": None,
              "messages": [{"role": "user", "content": rng.choice(TEXTS)}, {"role": "assistant", "content": rng.choice(TEXTS), "n": 2},
                           {"role": "user", "content": "end"}][:rng.randrange(1, 4)]}
    return text, values
