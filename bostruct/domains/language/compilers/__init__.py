"""Compile a program, a graph of modules, into executable form.

To compile for another target, subclass `Backend` and pass an instance to `Program.compile`. Its method `make` is called
for each node in topological order, with the results for the nodes that it reads. Results may have any type: shapes,
branches of a pipeline, numbers, positions of layers. The compilers of this package are backends: `networks` (torch),
`pipelines` (scikit-learn), `architectures`, and `flow.Calculation` (functions).
"""
