#!/usr/bin/env python3
"""Writes the output of jinja2, with the settings of Hugging Face transformers:
  tests/data/tokenizer/chat/golden.json  from the chat templates beside it, for the conversations of chat_conversations.py
  tests/data/jinja/golden.json           from small templates, written by hand (below) and at random (random_templates.py)
null means an error, {"as": NAME} the text of another conversation. Needs: jinja2 3.1.6."""
import json
import pathlib
import random

from chat_conversations import BOS, CONVERSATIONS, EOS, PLAIN, environment
from random_templates import random_template

DATA = pathlib.Path(__file__).parent.parent / "tests/data"
# Not written into golden.json.
USUAL = {"tools": None, "documents": None, "bos_token": BOS, "eos_token": EOS}
RANDOM = 1500

SMALL = [
    # White space around tags.
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a {%- if true -%} b {%- endif -%} c", "  {%+ if true %}x{% endif %}\n\n y",
    "{% if true +%}\nx{% endif %}", "x {{- 1 -}} y", "x\n{{ 1 }}\ny", "{# c #}\nx{#- c -#} y", "  {# c #}  \nx", "a\r\nb\rc\n\n",
    "{%- raw -%} {{ x }} {%- endraw -%} z", "{% raw %}\n{% if %}{% endraw %}\nx", "a\n\t {%- set x = 1 %}\n\nb", "{{ '}}' }}{{ {'a': {}}['a'] }}",
    "   {% set a = 1 %}   {% set b = 2 %}\nx", "{% if true %}\n\n{% endif %}\n",
    # Literals and operators.
    r"{{ 'a\n\t\\\x41\u00e9\U0001F999\101\q' }}", "{{ 'a' 'b' }}", "{{ 1_000 + 0x1F + 0b11 + 0o17 }}", "{{ 1.5e3 }} {{ 1e16 }} {{ 0.1 + 0.2 }}",
    "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7.5 % 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7 / 2 }}", "{{ -2 ** 2 }} {{ -1 | abs }}",
    "{{ 'a' * 3 }} {{ [1] * 2 }} {{ (1, 2) + (3,) }}", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }}", "{{ not 1 in [2] }}",
    "{{ 'b' in 'abc' }} {{ 'k' in {'k': 1} }} {{ 1 not in [] }}", "{{ true and 0 or 'x' }} {{ none or [] }}", "{{ 'a' ~ 1 ~ none ~ [1, 'x'] }}",
    "{{ 1 if false }}|{{ 'x' if false else 'y' if true else 'z' }}", "{{ (1,) }} {{ () }} {{ [1, 2,] }} {{ {'a': 1,} }}", "{{ 1, 2 }}",
    "{{ \"it's\" | list | string }} {{ ['\"', \"'\", '\\'\"'] }}", "{{ [true, none, 1.0, 'é\\u200b\\n'] }}", "{{ x is not defined }}{{ x }}{{ x | default('d') }}",
    "{{ x.y }}", "{{ x == y }}", "{{ x + 1 }}", "{{ 1 + 'a' }}", "{{ {}.a.b }}", "{{ {'a': 1}.b is defined }}", "{{ 'abc'[5] is defined }}", "{{ none | length }}",
    "{{ {'items': 1}.items() | list }}{{ {'items': 1}['items'] }}", "{{ {'a': 1}['keys'] is callable }}", "{{ [3, 1].sort() }}", "{{ {}.update({}) }}",
    "{{ 'héllo wörld'[1:4] }} {{ '世界🦙'[-1] }} {{ 'abc'[::-1] }} {{ 'abcdef'[4:1:-2] }}", "{{ [1, 2, 3, 4][-2:] }} {{ [1, 2][5:] }} {{ (1, 2)[:1] }}",
    "{{ 'a' is string and 1 is number and true is number and {} is mapping and 'a' is sequence and 1.0 is float and 1 is integer and true is not integer }}",
    "{{ 4 is divisibleby 2 and 3 is odd and 2 is even and 'a' is in 'abc' and 1 is eq 1 and none is none }}", "{{ 3 is divisibleby(2) or 'A' is upper }}",
    # Statements.
    "{% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ x }};{% endfor %}", "{% for x in [] %}a{% else %}b{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }},{% endfor %}", "{% for x in range(10) if x % 2 %}{{ x }}/{{ loop.length }} {% endfor %}",
    "{% for x in range(5) %}{% if x == 1 %}{% continue %}{% elif x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for c in 'añ🦙' %}[{{ c }}]{% endfor %}",
    "{% for x in [[1, [2]], [3]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{{ loop.depth }}{% endif %}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + i %}{{ x }};{% endfor %}{{ x }}", "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% set ns = namespace(a=1, b='x') %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}", "{% set a, b = [1, 2] %}{{ a }}{{ b }}",
    "{% set a, b = [1] %}", "{% set d.x = 1 %}", "{% set x %} hi {% endset %}[{{ x }}]", "{% set x | trim | upper %} hi {% endset %}[{{ x }}]",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }}{{ m(1, 3, 4, 5, d=6) }}{{ m(b=1, a=0) }}{{ m() }}",
    "{% macro m(n) %}{% if n > 0 %}{{ n }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(5) }}", "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% macro m(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) m(7) %}{{ x }}!{% endcall %}", "{% filter upper | replace('A', 'b') %}aa{{ 1 }}{% endfilter %}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x }}", "{% if 0 %}a{% elif [] %}b{% else %}c{% endif %}",
    "{% for x in none %}{% endfor %}", "{% for x in 5 %}{% endfor %}", "{% for m in [{'a': 1}] %}{{ m.a }}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}",
    "{% for x in 'ab' %}{% for y in 'cd' %}{{ loop.index }}{{ x }}{{ y }}{% endfor %}{{ loop.cycle('o', 'e') }}{% endfor %}", "{% set x = namespace() %}{% set x.a = [1] %}{{ x.a + [2] }}",
    "{% if x %}", "{% endif %}", "{{ }}", "{% foo %}", "{{ 1 | nofilter }}", "{{ raise_exception('no') }}", "{% break %}", "{{ 'a' is nosuchtest }}",
    # Filters and methods.
    "{{ {'b': 1, 'a': {'c': [1, 'é\"\\\\\\n']}} | tojson }} {{ [] | tojson(indent=2) }} {{ {'a': [1, {}]} | tojson(indent=2) }}", "{{ 'é🦙\\x01' | tojson(ensure_ascii=true) }}",
    "{{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}", "{{ x | tojson }}", "{{ 1e100 | tojson }} {{ (1, 2) | tojson }} {{ {1: 2, none: 3, true: 4} | tojson }}",
    "{{ ' a b ' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ ' a '.lstrip() }}|{{ 'a,b'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a\\n\\nb'.split('\\n') }}",
    "{{ 'a b c'.split(' ', 1) }} {{ 'a b c'.rsplit(' ', 1) }} {{ 'x'.join(['a', 'b']) }} {{ 'abc'.startswith(('b', 'a')) }} {{ 'aXbX'.replace('X', '', 1) }}",
    "{{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A'] | sort(case_sensitive=true) }} {{ [3, 1] | sort(reverse=true) }} {{ [1, 'a'] | sort }}",
    "{{ [{'n': 2}, {'n': 1}] | sort(attribute='n') | map(attribute='n') | list }} {{ [{'a': {'b': 1}}] | map(attribute='a.b') | list }}",
    "{{ ['a', 'B'] | map('upper') | join('-') }} {{ [1, 2, 3] | select('gt', 1) | list }} {{ [0, 1] | reject | list }} {{ [1] | first }}{{ [] | last }}",
    "{{ [{'r': 'u'}, {'r': 'a'}, {}] | selectattr('r', 'equalto', 'u') | list }} {{ [{'r': 1}, {}] | rejectattr('r') | list }} {{ none | selectattr('a') | list }}",
    "{% if [] | selectattr('a') %}always{% endif %}{{ [1] | map('string') | length }}", "{{ 'abc' | reverse }} {{ [1, 2] | reverse | list }} {{ 'abc' | first }} {{ 'hello world' | title | length }}",
    "{{ 'a' | default('b') }}{{ '' | default('b', true) }}{{ none | default('b') }}{{ x | d(1) }}", "{{ '12' | int + 1 }} {{ 'x' | int(5) }} {{ '1.9' | int }} {{ '2.5' | float }} {{ 3 | string + '!' }}",
    "{{ 2.5 | round }} {{ 3.14159 | round(2) }} {{ 2.1 | round(method='ceil') }} {{ 7 | round }} {{ [1, 2] | sum }} {{ [1, 5, 3] | max }} {{ ['b', 'a'] | min }}",
    "{{ 'line\\nline\\n\\nend' | indent }}|{{ 'a\\nb' | indent(2, true) }}|{{ 'a\\n\\nb' | indent('> ', blank=true) }}", "{{ {'b': 1, 'a': 2} | dictsort }} {{ {'b': 1, 'a': 2} | items | list }}",
    "{% for g in [{'t': 1, 'n': 'a'}, {'t': 2, 'n': 'b'}, {'t': 1, 'n': 'c'}] | groupby('t') %}{{ g[0] }}:{{ g[1] | map(attribute='n') | join }};{% endfor %}", "{{ [1, 2, 1, 'a', 'A'] | unique | list }}",
    "{{ [1, 2, 3] | batch(2, 'x') | list }} {{ 'long text here' | truncate(9, leeway=0) }} {{ 'a b' | wordcount }} {{ '<a>' | e }} {{ '<a>' | safe ~ '<b>' }} {{ '<' | escape + '<' }}",
    "{{ '%s is %d%% %5.1f|%-4s|%04d' % ('x', 5, 2.25, 'ab', 42) }} {{ '%(a)s' % {'a': 1} }} {{ '{} {1} {n:>5} {:.2f}'.format(1, 2, n=3) if false }} {{ '{:>5}|{:<5}|{:^5}|{:05.1f}'.format('a', 'b', 'c', 2.25) }}",
    "{{ 'ß'.upper() }} {{ 'ÀÉ'.lower() }} {{ 'hello wORLD'.title() }} {{ 'hELLO'.capitalize() }} {{ 'aB'.swapcase() }} {{ '42'.isdigit() }} {{ ''.isalpha() }} {{ '٣'.isdigit() }}",
    "{{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'abc'.find('c') }} {{ 'aüc'.find('c') }} {{ 'abc'.index('z') }}", "{{ 'banana'.count('an') }} {{ 'x'.center(4) }}|{{ 'ab'.center(5, '*') }} {{ '-7'.zfill(4) }}",
    "{{ 'abc'.removeprefix('a').removesuffix('c') }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ {'a': 1}.get('b', 2) }} {{ {'a': 1}.get('b') }} {{ {'a': 1, 'b': 2}.values() | list }}",
    "{{ dict(a=1, b=2) }} {{ dict({'a': 1}, b=2) }} {{ range(3) | list }} {{ range(5, 1, -2) | list }} {{ strftime_now('%d %b %Y, %A %-d %H:%M %j %%') }}", "{{ strftime_now is defined }}{{ namespace is defined }}",
    "{{ [1, [2, [3]]] | string | length }} {{ 'A' < 'a' }} {{ [1, 2] < [1, 3] }} {{ 'a' < 1 }}", "{{ 'abc' | list }} {{ {'a': 1} | list }} {{ (1, 2) | list }} {{ 'x' | attr('upper') is callable }} {{ {'a': 1} | attr('a') is defined }}",
]


def rendered(env, template, variables):
    try:
        return env.from_string(template).render(**variables)
    except Exception:  # any Python exception is an error of the template
        return None


def write(path, items):
    path.parent.mkdir(exist_ok=True)
    path.write_text(items + "\n")
    print(path.relative_to(DATA), path.stat().st_size, "bytes")


def compact(value):
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def chats():
    env = environment()
    conversations = {name: {k: v for k, v in variables.items() if k not in USUAL or v != USUAL[k]}
                     for name, variables in CONVERSATIONS.items()}
    lines = []
    for path in sorted((DATA / "tokenizer/chat").glob("*.jinja")):
        template, known, expected = path.read_text(), {}, {}
        for name, variables in CONVERSATIONS.items():
            text = rendered(env, template, variables)
            expected[name] = text if text is None or text not in known else {"as": known[text]}
            known.setdefault(text, name)
        lines.append(f"{compact(path.stem)}:{compact(expected)}")
    plain = ",\n".join(f"{compact(name)}:{compact(variables)}" for name, variables in conversations.items())
    write(DATA / "tokenizer/chat/golden.json",
          '{"plain":' + compact(list(PLAIN)) + ',\n"conversations":{\n' + plain + '},\n"expected":{\n' + ",\n".join(lines) + "}}")


def small():
    env = environment()
    cases = [(template, {}) for template in SMALL]
    for seed in range(RANDOM):
        template, variables = random_template(random.Random(seed))
        used = {name: value for name, value in variables.items() if name in template}
        text = rendered(env, template, used)
        short = len(template) + len(compact(used)) < 300
        if short and (text is not None or seed % 10 == 0) and " object at 0x" not in (text or ""):
            cases.append((template, used))
    lines = [compact({"template": t, "variables": v, "expected": rendered(env, t, v)}) for t, v in cases]
    write(DATA / "jinja/golden.json", "[\n" + ",\n".join(lines) + "\n]")
    print(len(cases), "small templates")


if __name__ == "__main__":
    chats()
    small()
