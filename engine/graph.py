"""The rules as a graph: cause -> mechanism -> mechanism -> symptom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .model import Cause, Link, Mechanism, RuleBase

if TYPE_CHECKING:
    import networkx as nx

    DiGraph: TypeAlias = "nx.DiGraph[str]"


class Graph(Protocol):
    """What the search for chains asks of a graph; a networkx DiGraph and an `Outline` have it."""

    @property
    def nodes(self) -> Mapping[str, Mapping[str, Any]]:
        """Node -> its `kind`."""

    @property
    def adj(self) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
        """Tail -> head -> the `link` and `cost` of the edge."""


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """The graph as plain mappings: a diagnosis needs no more, and networkx takes longer to import than it."""

    nodes: Mapping[str, Mapping[str, Any]]
    adj: Mapping[str, Mapping[str, Mapping[str, Any]]]


Path = tuple[tuple[str, ...], tuple[Link, ...]]  # nodes from cause to symptom, and the arrows between them


def links(node: Cause | Mechanism) -> tuple[Link, ...]:
    """All arrows that leave a node."""
    return node.leads_to + node.shows


def active_causes(rules: RuleBase) -> list[Cause]:
    """The causes that inference considers, by id; deprecated ones only keep their page."""
    return [rules.causes[c] for c in sorted(rules.causes) if rules.causes[c].status != "deprecated"]


def arrows(rules: RuleBase) -> Iterator[tuple[str, Link]]:
    """All arrows with their tails, in a fixed order."""
    for cause in active_causes(rules):
        yield from ((cause.id, link) for link in links(cause))
    for name in sorted(rules.mechanisms):
        yield from ((name, link) for link in links(rules.mechanisms[name]))


def outline(rules: RuleBase) -> Outline:
    """Return the whole graph; nodes carry `kind`, edges their `link` and `cost` (-log strength)."""
    kinds = dict.fromkeys((c.id for c in active_causes(rules)), "cause")
    kinds |= dict.fromkeys(sorted(rules.mechanisms), "mechanism")
    kinds |= dict.fromkeys(sorted(rules.symptoms), "symptom")
    adj: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in kinds}
    for tail, link in arrows(rules):
        adj[tail][link.to] = {"link": link, "cost": -log(link.strength)}
    return Outline({name: {"kind": kind} for name, kind in kinds.items()}, adj)


def to_digraph(rules: RuleBase) -> DiGraph:
    """Return the same graph for networkx and all that it can do."""
    import networkx as nx

    plain = outline(rules)
    graph: DiGraph = nx.DiGraph()
    graph.add_nodes_from(plain.nodes.items())
    graph.add_edges_from(
        (tail, head, data) for tail, heads in plain.adj.items() for head, data in heads.items()
    )
    return graph


def strongest_paths(graph: Graph, cause: str) -> dict[str, Path]:
    """Return, for every symptom a cause leads to, the chain with the largest product of strengths.

    The graph is acyclic, so one pass in topological order finds them; ties go to the chain that comes first
    in the order of names, so the answer never depends on the order of insertion.
    """
    best: dict[str, tuple[float, tuple[str, ...]]] = {cause: (0.0, (cause,))}
    for node in _below(graph, cause):
        for head, data in graph.adj[node].items():
            cost, nodes = best[node][0] + data["cost"], (*best[node][1], head)
            if head not in best or (round(cost, 12), nodes) < (round(best[head][0], 12), best[head][1]):
                best[head] = (cost, nodes)
    symptoms = sorted(n for n in best if graph.nodes[n]["kind"] == "symptom")
    return {s: (best[s][1], _links_along(graph, best[s][1])) for s in symptoms}


def descendants(graph: Graph, node: str) -> set[str]:
    """Return all mechanisms and symptoms below a node."""
    inner = _below(graph, node)
    return {head for tail in inner for head in graph.adj[tail]}


def _below(graph: Graph, cause: str) -> list[str]:
    """The cause and the mechanisms below it, each after all that lead to it."""
    order: list[str] = []
    done: set[str] = set()

    def visit(node: str) -> None:
        done.add(node)
        for head in graph.adj[node]:
            if head not in done and graph.nodes[head]["kind"] == "mechanism":
                visit(head)
        order.append(node)

    visit(cause)
    return order[::-1]


def _links_along(graph: Graph, nodes: tuple[str, ...]) -> tuple[Link, ...]:
    return tuple(graph.adj[a][b]["link"] for a, b in pairwise(nodes))
