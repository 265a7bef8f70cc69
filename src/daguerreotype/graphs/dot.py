"""Reader and writer of the DOT language of Graphviz.

They know what carries structure: nodes, chains of edges, groups on either side of an edge, subgraphs and
attributes of edges. Ports, defaults and attributes of nodes are read over.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import networkx as nx

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)
    |(?P<quoted>"(?:[^"\\]|\\.)*")
    |(?P<edge>->|--)
    |(?P<sign>[{}\[\];,=:+])
    |(?P<plain>-?(?:\.\d+|\d+(?:\.\d*)?)|[^\W\d]\w*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
DEFAULTS = ("graph", "node", "edge")
NEVER = "\0"  # stands for the end; no token is called so


def write_dot(graph: nx.DiGraph) -> str:
    """The text of ``graph``: nodes in their order, then edges with their attributes; all names are quoted."""
    lines = [f"  {_quoted(node)};" for node in graph.nodes]
    for cause, effect, attributes in graph.edges(data=True):
        listed = ", ".join(f"{name}={_written(value)}" for name, value in attributes.items())
        lines.append(f"  {_quoted(cause)} -> {_quoted(effect)}{f' [{listed}]' if listed else ''};")
    return "\n".join(["digraph {", *lines, "}", ""])


def read_dot(text: str) -> nx.DiGraph:
    """The graph that ``text`` describes, nodes in the order of their first mention."""
    return _Parser(text).graph()


def _quoted(name: str) -> str:
    """A name as a quoted string, in which two characters need an escape."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _written(value: float | str) -> str:
    """The value of an attribute: a number as it is, words quoted."""
    return _quoted(value) if isinstance(value, str) else repr(value)


def _unquoted(token: str) -> str:
    """The name that a quoted string stands for; a backslash before other characters is one itself."""
    # A backslash at the end of a line joins it with the next.
    return re.sub(r'\\(["\\\n])', lambda match: match[1].strip("\n"), token[1:-1])


class _Parser:
    """Reads tokens one after another; a method reads one construct of the language."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [*self._split(), ("end", NEVER, len(text))]
        self.at = 0
        self.found = nx.DiGraph()

    def _split(self) -> Iterator[tuple[str, str, int]]:
        """Kind, text and place of every token."""
        at = 0
        while at < len(self.text):
            match = TOKEN.match(self.text, at) or _html(self.text, at)
            if match is None:
                raise self._error(at, f"cannot read {self.text[at : at + 20]!r}")
            kind, word = match if isinstance(match, tuple) else (str(match.lastgroup), match.group())
            if kind != "space":
                yield kind, word, at
            at += len(word)

    def graph(self) -> nx.DiGraph:
        """The whole text."""
        self._take("strict")
        if self._take("graph"):
            raise self._error(0, "it is an undirected graph; expected a digraph")
        if not self._take("digraph"):
            raise self._error(self.tokens[self.at][2], "expected 'digraph' at the start")
        if self.tokens[self.at][1] != "{":
            self._name()
        self._group()
        if self.tokens[self.at][0] != "end":
            raise self._error(self.tokens[self.at][2], "there is more after the closing brace")
        return self.found

    def _group(self) -> list[str]:
        """Statements in braces; all nodes that they mention."""
        if not self._take("{"):
            raise self._unexpected("'{'")
        mentioned: dict[str, None] = {}
        while not self._take("}"):
            mentioned.update(dict.fromkeys(self._statement()))
            while self._take(";") or self._take(","):
                pass
        return list(mentioned)

    def _statement(self) -> list[str]:
        """Defaults, an attribute of the graph, a node, or a chain of edges; the nodes it mentions."""
        kind, word, _ = self.tokens[self.at]
        if kind == "plain" and word.lower() in DEFAULTS:
            self.at += 1
            self._attributes()
            return []
        if kind in ("plain", "quoted") and self.tokens[self.at + 1][1] == "=":
            self._name()
            self.at += 1
            self._name()
            return []
        chain = [self._end_of_edge()]
        while self.tokens[self.at][0] == "edge":
            if not self._take("->"):
                raise self._error(self.tokens[self.at][2], "'--' is an undirected edge; expected '->'")
            chain.append(self._end_of_edge())
        attributes = self._attributes()
        for causes, effects in pairwise(chain):
            self.found.add_edges_from((i, j, attributes) for i in causes for j in effects)
        return [node for nodes in chain for node in nodes]

    def _end_of_edge(self) -> list[str]:
        """A node, or all nodes of a group."""
        if self._take("subgraph") and self.tokens[self.at][1] != "{":
            self._name()
        if self.tokens[self.at][1] == "{":
            return self._group()
        node = self._name()
        while self._take(":"):  # a port
            self._name()
        self.found.add_node(node)
        return [node]

    def _attributes(self) -> dict[str, str]:
        """Lists of attributes in brackets, all of them together."""
        attributes = {}
        while self._take("["):
            while not self._take("]"):
                name = self._name()
                attributes[name] = self._name() if self._take("=") else "true"
                while self._take(",") or self._take(";"):
                    pass
        return attributes

    def _name(self) -> str:
        """A word, a number, markup, or quoted strings joined by plus signs."""
        kind, word, _ = self.tokens[self.at]
        if kind not in ("plain", "quoted", "html"):
            raise self._unexpected("a name")
        self.at += 1
        if kind != "quoted":
            return word
        name = _unquoted(word)
        while self._take("+"):
            name += self._name()
        return name

    def _take(self, word: str) -> bool:
        """Step over ``word`` if it comes next; key words may be written in capitals."""
        found = self.tokens[self.at][1].lower() == word
        self.at += found
        return found

    def _unexpected(self, wanted: str) -> ValueError:
        """The error of a text that goes on with something else than what is wanted."""
        _, seen, at = self.tokens[self.at]
        return self._error(at, f"expected {wanted}, got {'the end' if seen == NEVER else repr(seen)}")

    def _error(self, at: int, what: str) -> ValueError:
        line = self.text.count("\n", 0, at) + 1
        return ValueError(f"line {line} of the DOT text: {what}.")


def _html(text: str, at: int) -> tuple[str, str] | None:
    """Markup in balanced angle brackets, if it starts here."""
    if text[at] != "<":
        return None
    depth = 0
    for end in range(at, len(text)):
        depth += {"<": 1, ">": -1}.get(text[end], 0)
        if depth == 0:
            return "html", text[at : end + 1]
    return None
