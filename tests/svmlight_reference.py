"""Svmlight text read in the plainest way, and random texts: sound ones, odd ones, broken ones."""

import re

NUMBER = re.compile(
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)
ENTRY = re.compile(rb"([0-9]+):(.*)", re.DOTALL)
QUERY = re.compile(rb"qid:([+-]?[0-9]+)")


class WrongError(Exception):
    """The line, counted from 1, in which something is wrong."""

    def __init__(self, line):
        super().__init__(line)
        self.line = line


def read(text, *, least=0, most=2**63 - 2, finite=True, multilabel=False, queries=False):
    """Rows as (labels, query, sorted pairs of id and value); WrongError if a line is not right."""
    rows = []
    for line, content in enumerate(text.split(b"\n"), 1):
        tokens = content.partition(b"#")[0].split()
        if tokens:
            try:
                rows.append(_row(tokens, least, most, finite, multilabel, queries))
            except ValueError:
                raise WrongError(line) from None
    return rows


def _row(tokens, least, most, finite, multilabel, queries):
    labels = []
    if not (multilabel and b":" in tokens[0]):
        labels = [_number(part, finite) for part in tokens.pop(0).split(b",")]
    if len(labels) != 1 and not multilabel:
        raise ValueError
    query = None
    if tokens and tokens[0].startswith(b"qid:"):
        query = int(QUERY.fullmatch(tokens.pop(0)).group(1) if QUERY.fullmatch(tokens[0]) else "")
        if abs(query) >= 2**63:
            raise ValueError
    elif queries:
        raise ValueError
    entries = {}
    for token in tokens:
        pair = ENTRY.fullmatch(token)
        if not pair:
            raise ValueError
        column = int(pair.group(1))
        if column in entries or not least <= column <= most:
            raise ValueError
        entries[column] = _number(pair.group(2), finite)
    return tuple(labels), query, sorted(entries.items())


def _number(token, finite):
    if not NUMBER.fullmatch(token):
        raise ValueError
    number = float(token)
    if finite and not abs(number) < float("inf"):
        raise ValueError
    return number


def make_number(rng):
    """The text of a number, in one of many forms."""
    kind = rng.integers(8)
    if kind == 0:
        return b"%d" % rng.integers(10 ** rng.integers(1, 18))
    if kind == 1:
        return b"%.*g" % (int(rng.integers(1, 20)), rng.standard_normal())
    if kind == 2:
        return repr(float(10.0 ** rng.uniform(-330, 308))).encode()
    if kind == 3:
        return b"%.*f" % (int(rng.integers(25)), 10.0 ** rng.uniform(-10, 20))
    if kind == 4:
        digits = bytes(rng.integers(48, 58, rng.integers(1, 40)).tolist())
        return digits + b"." + digits[::-1] + b"e%+d" % rng.integers(-340, 250)
    return [b"1", b"+1", b"-1", b"0", b"-0", b".5", b"5.", b"1e-3", b"2E5"][rng.integers(9)]


def make_text(rng, rows=6, *, plain=False):
    """Sound text with odd blanks, comments and line ends; if not plain, also odd ids."""
    lines = []
    for _ in range(rng.integers(rows + 1)):
        tokens = [make_number(rng)]
        if rng.random() < 0.2:
            tokens.append(b"qid:%d" % rng.integers(-5, 100))
        ids = rng.choice(40, rng.integers(8), replace=False)
        if plain or rng.random() < 0.7:
            ids = sorted(ids)
        if not plain and rng.random() < 0.1:
            ids = [int(i) * 10 ** int(rng.integers(16)) for i in set(ids)]
        tokens += [b"%d:%b" % (i, make_number(rng)) for i in ids]
        blanks = [[b" ", b" ", b"\t", b"  ", b" \r "][i] for i in rng.integers(5, size=len(tokens))]
        line = b"".join(t + b for t, b in zip(tokens, blanks, strict=True)).rstrip()
        line += [b"", b"", b" ", b" # x:y # 1:2", b"#"][rng.integers(5)]
        lines.append(line + [b"\n", b"\r\n", b"\n\n", b"\n# 3:4\n", b"\n \t\n"][rng.integers(5)])
    text = b"".join(lines)
    return text.rstrip() if rng.random() < 0.3 else text


def mutate(rng, text):
    """The text with some bytes changed, left out, put in or repeated."""
    data = bytearray(text)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data) + 1))
        kind = rng.integers(5)
        if kind == 0:
            data[at : at + 1] = bytes([rng.integers(256)])
        elif kind == 1:
            data[at:at] = b" :.,#\n\r\t+-e0123456789qidnaf\x00\xff"[rng.integers(33) :][:1]
        elif kind == 2:
            del data[at : at + int(rng.integers(1, 4))]
        elif kind == 3:
            stop = at + int(rng.integers(1, 20))
            data[at:at] = data[at:stop]
        else:
            del data[at:]
    return bytes(data)
