"""Any ODE code on a stiff mechanism: a home-made implicit Euler method on the equations of motion as w' = f(t, w).

`StateSpace` gives the rate and its exact Jacobian in the coordinates of a chart, two numbers per freedom, and says when
the chart has changed. The springs of this double pendulum are stiff (eigenvalue -1e5 1/s): explicit methods need steps
of some ten microseconds.
"""

import numpy as np

import linkwork as lw

STEP = 1e-3
model = lw.models.double_pendulum()
space = lw.embed.StateSpace(model, formulation="partitioning")


def advance(t, w, h):
    """One step of w1 = w + h f(t + h, w1) by Newton's method; a step that cannot be evaluated is halved."""
    try:
        new, matrix = w, np.eye(space.size) - h * space.jac(t, w)
        for _ in range(8):
            change = np.linalg.solve(matrix, w + h * space.fun(t + h, new) - new)
            new = new + change
            if np.abs(change).max() < 1e-10:
                return t + h, new
    except lw.embed.EvaluationError as failure:
        print(f"at t = {failure.t:.4f} s: {failure.status}, half the step")
    return advance(t, w, 0.5 * h)


t, w, charts, height = space.t0, space.w0, 1, []
while t < 1.0 - 1e-12:
    t, w = advance(t, w, min(STEP, 1.0 - t))
    w, changed = space.correct(t, w)  # one-step methods just go on with the new w, others forget their history
    charts += changed
    height.append(space.lift(t, w).channel("arm1.position.y"))

print(f"{len(height)} steps in {charts} charts, {space.facts['evaluations']} evaluations")
result = model.simulate(1.0, method="partitioning/sdirk4", rtol=1e-8, atol=1e-8)
error = abs(height[-1] - result.channel("arm1.position.y")[-1])
print(f"height at 1 s: {height[-1]:.6f} m, off by {error:.1e} m from partitioning/sdirk4")
