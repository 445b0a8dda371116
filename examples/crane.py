"""A tower crane in joint coordinates: slew, trolley, rope and load are a tree, the rope of twenty links and all.

Recursive coordinates need no constraint for a tree: there is nothing to close, nothing to drift, and the work grows
with the number of bodies alone. The Cartesian formulation gives the same motion and the same reactions by name.
"""

import numpy as np

import linkwork as lw

LINKS, LENGTH = 20, 0.4

crane = lw.Model("crane", gravity=(0, 0, -9.81))
jib = crane.add(lw.Body("jib", mass=2000, inertia=(100, 2e5, 2e5), position=(10, 0, 20)))
crane.add(lw.Revolute("slew", crane.ground, jib, point=(0, 0, 20), axis=(0, 0, 1)))
trolley = crane.add(lw.Body("trolley", mass=300, inertia=(20, 20, 20), position=(12, 0, 19)))
crane.add(lw.Translational("rail", jib, trolley, point=(12, 0, 19), axis=(1, 0, 0)))
above, top = trolley, np.array([12.0, 0.0, 19.0])
for k in range(LINKS):
    link = crane.add(lw.Body(f"link{k}", mass=2, inertia=(0.03, 0.03, 0.001), position=top - (0, 0, 0.5 * LENGTH)))
    crane.add(lw.Spherical(f"eye{k}", above, link, point=top))
    above, top = link, top - (0, 0, LENGTH)
load = crane.add(lw.Body("load", mass=800, inertia=(90, 90, 90), position=top - (0, 0, 0.6)))
crane.add(lw.Spherical("hook", above, load, point=top))

# the drives: slew to and fro, the trolley held by a stiff actuator
crane.add(lw.RotationalSpring("drive", on="slew", torque=lw.Expression("-4e4*sin(0.5*t)"), damping=1e5))
crane.add(lw.Spring("winch", on="rail", stiffness=5e4, damping=2e4))

runs = {}
for method in ("recursive/dop853", "partitioning/dop853"):
    run = crane.simulate(0.5, method=method, rtol=1e-9, atol=1e-9, output=0.05)
    runs[method] = run
    cost = run.statistics
    print(f"{method:20s} {cost.evaluations:6d} evaluations of {1e6 * cost.wall_time / cost.evaluations:.0f} us")
one, other = runs.values()
print("largest difference of positions ", max(np.abs(one[b].position - other[b].position).max() for b in one.bodies))
print("largest difference of reactions ", max(np.abs(one[j].force - other[j].force).max() for j in one.joints))
assert np.allclose(one["load"].position, other["load"].position, atol=1e-7)

swing = crane.simulate(12.0, method="recursive/dop853", rtol=1e-6, atol=1e-6, output=0.02)
print(swing)
swing.plot("load.position.x", "load.position.y", "rail.displacement", title="load of a crane", path="crane.png")
