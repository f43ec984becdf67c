"""Two methods on the same weighted MaxSAT problem, from the same twenty points, against its proven optimum."""

import bostruct as bo
from bostruct import problems

problem = problems.load("max3sat:variables=40,clauses=160,seed=1,relabel=7")
print(f"{problem.space.d} variables, optimum {problem.optimum} ({problem.optimum_source})")

for method in ("auto", "random"):
    finals = []
    for seed in range(3):
        start = problem.initial_points(problem.configs[seed])
        result = bo.minimize(problem, problem.space, n_trials=80, method=method, seed=seed, initial_points=start)
        finals.append(result.best_value)
    print(f"{method:>7}: unsatisfied weight {', '.join(f'{value:.2f}' for value in finals)}")
