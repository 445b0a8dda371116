"""A block is thrown upon a floor: every bounce with its impulses, and the contact in which they end.

Each of the four corners has a Stop with restitution and friction. Momentum is explained by the impulses; energy is lost
in every impact and in none between.
"""

import numpy as np

import linkwork as lw

model = lw.models.bouncing_block(speed=1.0, angle=0.3, restitution=0.5, friction=0.2)
result = model.simulate(1.2, rtol=1e-9, atol=1e-9)
print(result)

print("      t [s]  corner   kind     p [N s]   friction [N s]   energy lost [J]")
for hit in result.events[:12]:
    normal, slip = hit.impulse[hit.name].effort
    lost = hit.state.energy.kinetic - hit.after.energy.kinetic
    print(f"  {hit.t:9.6f}  {hit.name}  {hit.kind:8} {normal:8.5f}  {slip:15.5f}  {lost:15.3e}")

resting = [k for k in range(1, 5) if result[f"floor{k}"].closed[-1]]
forces = ", ".join(f"{result[f'floor{k}'].contact_force[-1]:.4f} N" for k in resting)
print(f"at rest on corners {resting} with {forces}")
assert np.isclose(sum(result[f"floor{k}"].contact_force[-1] for k in resting), 9.81)
result.plot("block.position.y", "block.angle", title="Bouncing block", path="bouncing_block.png")
