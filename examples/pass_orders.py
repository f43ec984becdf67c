"""Find an order of LLVM's passes after which a small program has few instructions.

    python examples/pass_orders.py [TRIALS]

`opt` runs the passes in the order of a point on a program that clang would make without optimization. The value is the
number of instructions that are left. Without `opt` on the path the example says so and ends.
"""

import re
import shutil
import subprocess
import sys

import bostruct as bo

PROGRAM = """
define internal i32 @square(i32 %n) {
  %at = alloca i32
  store i32 %n, ptr %at
  %a = load i32, ptr %at
  %b = load i32, ptr %at
  %c = mul i32 %a, %b
  ret i32 %c
}

define i32 @sum(i32 %n, i32 %step) {
  %i = alloca i32
  %total = alloca i32
  store i32 0, ptr %i
  store i32 0, ptr %total
  br label %test
test:
  %now = load i32, ptr %i
  %more = icmp slt i32 %now, 8
  br i1 %more, label %body, label %done
body:
  %k = load i32, ptr %i
  %twice = mul i32 %step, 2
  %same = add i32 %step, %step
  %equal = icmp eq i32 %twice, %same
  br i1 %equal, label %then, label %else
then:
  %mixed = xor i32 %k, %step
  %s = call i32 @square(i32 %mixed)
  %t = load i32, ptr %total
  %u = add i32 %t, %s
  store i32 %u, ptr %total
  br label %next
else:
  %v = call i32 @square(i32 %n)
  store i32 %v, ptr %total
  br label %next
next:
  %j = load i32, ptr %i
  %j1 = add i32 %j, 1
  store i32 %j1, ptr %i
  br label %test
done:
  %result = load i32, ptr %total
  ret i32 %result
}
"""
PASSES = [
    "inline",
    "mem2reg",
    "simplifycfg",
    "instcombine",
    "gvn",
    "loop-rotate",
    "loop-unroll",
    "sccp",
    "adce",
    "licm",
]
NESTED = {"licm": "function(loop-mssa(licm))", "inline": "cgscc(inline)"}  # of loops, of the call graph
INSTRUCTION = re.compile(r"^  \S", re.MULTILINE)

space = bo.Space({"passes": bo.Permutation(PASSES)})


def count_instructions(point):
    pipeline = ",".join(NESTED.get(name, f"function({name})") for name in point["passes"])
    ended = subprocess.run(
        [shutil.which("opt"), "-S", f"-passes={pipeline}", "-opaque-pointers"],
        input=PROGRAM,
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        raise bo.Infeasible(ended.stderr.strip().splitlines()[-1])
    return float(len(INSTRUCTION.findall(ended.stdout)))


if __name__ == "__main__":
    if shutil.which("opt") is None:
        sys.exit("this example needs LLVM's opt on the path")
    n_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    result = bo.minimize(count_instructions, space, n_trials, seed=0)
    given = count_instructions({"passes": tuple(PASSES)})
    print(f"as given {given:.0f} instructions, best of {n_trials} trials {result.best_value:.0f}:")
    print(", ".join(result.best_point["passes"]))
