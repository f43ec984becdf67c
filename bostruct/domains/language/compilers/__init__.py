"""Compile a program, a graph of modules, into something that runs.

To add a domain, subclass `Backend` with the method `make`, and hand it to `Program.compile`: `make` is called
once a node, in topological order, with what was made of the nodes that it reads. What travels along the edges is the
backend's own affair: shapes, branches of a pipeline, numbers, positions of layers. The compilers that are here are such
backends: `networks` (torch), `pipelines` (scikit-learn), `architectures`, and `flow.Calculation` (functions).
"""
