"""A planar four-bar made of four three-dimensional hinges: three rows too many, and it runs all the same.

`check` names the dependent rows and the rows they follow from. The motion is that of the planar mechanism; which of the
redundant reactions carries how much is not determined by rigid bodies, and the shortest multipliers are taken.
"""

import numpy as np

import linkwork as lw

spatial = lw.models.four_bar(form="spatial")
planar = lw.models.four_bar(form="planar")

print(spatial.check())

times = np.linspace(0, 10, 201)
runs = [model.simulate(10.0, rtol=1e-9, atol=1e-9, output=times) for model in (planar, spatial)]
apart = np.abs(runs[0]["rocker"].position - runs[1]["rocker"].position).max()
print(f"the two forms stay within {apart:.1e} m of each other")
assert apart < 1e-5

# the hinge of the rocker: forces in the plane agree, those across it are zero by the choice of the shortest multipliers
force = runs[1]["D"].force
print(f"largest force in the plane {np.abs(force[:, :2]).max():.3g} N, across it {np.abs(force[:, 2]).max():.1e} N")
energy = runs[1].energy
print(f"energy changes by {np.ptp(energy.total):.1e} J while {np.ptp(energy.kinetic):.3g} J go to and fro")
