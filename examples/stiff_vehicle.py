"""The 14-body vehicle on stiff bushings over a bump: an implicit method, its accuracy, and what the others cost.

The bushings give the motion an eigenvalue of -2.6e5 1/s: an explicit method takes 160 000 steps for every second of it.
"""

import numpy as np

import linkwork as lw

vehicle = lw.models.hmmwv(stiff=True)
result = vehicle.simulate(4.0, method="partitioning/sdirk4", rtol=1e-3, atol=1e-3)
print(result)
result.plot("chassis.position.z", "bushing_FL.force", title="stiff vehicle over a bump", path="stiff_vehicle.png")

# the same motion with every implicit method, against a tight run
times = np.linspace(0.0, 4.0, 401)
exact = vehicle.simulate(4.0, method="partitioning/radau5", rtol=1e-9, atol=1e-9, output=times)
height = exact["chassis"].position[:, 2]
print("\nmethod                steps  Jacobians  wall time [ms]  error of the height [m]")
for method in ("partitioning/sdirk4", "partitioning/radau5", "partitioning/rodas", "partitioning/bdf"):
    run = vehicle.simulate(4.0, method=method, rtol=1e-4, atol=1e-4, output=times)
    error = np.abs(run["chassis"].position[:, 2] - height).max()
    cost = run.statistics
    print(f"{method:20s} {cost.steps:6d} {cost.jacobians:10d} {1e3 * cost.wall_time:15.1f} {error:24.1e}")
    assert error < 1e-3

# a hundredth of a second with the best explicit method
explicit = vehicle.simulate(0.01, method="partitioning/adams", rtol=1e-3, atol=1e-3).statistics
print(f"\npartitioning/adams takes {explicit.steps} steps for the first hundredth of a second")
