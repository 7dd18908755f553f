"""Reads graph files with networkx and igraph, and prints what they found as JSON."""
import json
import os
import sys

import igraph
import networkx as nx


def told(g, number):
    """The vertices in their order and the edges of a graph of networkx, and its degrees."""
    return {
        "vertices": [
            {
                "label": a["label"], "in": a["in_degree"], "out": a["out_degree"], "fetched": a["fetched"],
                "hosts": a.get("hosts", 0), "their_in": g.in_degree(n), "their_out": g.out_degree(n),
            }
            for n, a in sorted(g.nodes(data=True), key=lambda v: number(v[0]))
        ],
        "edges": sorted([number(a), number(b), int(d["weight"])] for a, b, d in g.edges(data=True)),
    }


dir, level = sys.argv[1:]
graphml = os.path.join(dir, level + ".graphml")
out = {
    "networkx graphml": told(nx.read_graphml(graphml), lambda n: int(n[1:])),
}
g = igraph.Graph.Read_GraphML(graphml)
out["igraph graphml"] = {
    "vertices": [
        {
            "label": v["label"], "in": v["in_degree"], "out": v["out_degree"], "fetched": v["fetched"],
            "hosts": v["hosts"] if "hosts" in v.attributes() else 0, "their_in": v.indegree(), "their_out": v.outdegree(),
        }
        for v in g.vs
    ],
    "edges": sorted([e.source, e.target, int(e["weight"])] for e in g.es),
}
json.dump(out, sys.stdout)
