"""The 14-body vehicle of the gallery over a half-cylinder bump: heights and wheel loads. Draws the README's picture.

Two suspensions: the one with every arm on a hinge, and the one whose upper arms sit on soft bushings.
"""

import linkwork as lw

hinged = lw.models.hmmwv(unilateral_tires=True)
result = hinged.simulate(5.0, rtol=1e-6, atol=1e-6, output=0.005)
print(result)
result.plot(
    "chassis.position.z", "tire_FL.force.z", "tire_RL.force.z",
    title="14-body vehicle over a bump at 16 km/h", path="vehicle_over_bump.png",
)  # fmt: skip

# the front wheels meet the bump at 0.5 s, the rear ones a wheelbase later
height = result["chassis"].position[:, 2]
print(f"the chassis rises by {1e3 * (height.max() - height[0]):.0f} mm at t = {result.t[height.argmax()]:.2f} s")

bushed = lw.models.hmmwv(stiff=True, bushing_factor=0.01, unilateral_tires=True)
other = bushed.simulate(5.0, rtol=1e-6, atol=1e-6, output=0.005)
print(f"on bushings: {other.statistics.steps} steps instead of {result.statistics.steps}")
