"""A variable whose choices form a graph of their own: where to build three wells in a village of 24 places."""

import networkx as nx

import bostruct as bo

streets = nx.grid_2d_graph(6, 4)
streets.remove_edge((2, 1), (3, 1))  # a river, with a bridge further up
streets.remove_edge((2, 2), (3, 2))
village = nx.relabel_nodes(streets, {(x, y): f"{'ABCDEF'[x]}{y + 1}" for x, y in streets})
WALKS = dict(nx.all_pairs_shortest_path_length(village))


def walking(point):
    """Mean way to the nearest well, in streets."""
    return sum(min(WALKS[house][well] for well in point.values()) for house in village) / len(village)


space = bo.Space({f"well {i}": bo.Graph(village) for i in (1, 2, 3)})
result = bo.minimize(walking, space, n_trials=60, seed=0)

print(f"mean way {result.best_value:.3f} with wells at {sorted(result.best_point.values())}")
print(f"{len(result.trials)} of {space.size} points tried")
