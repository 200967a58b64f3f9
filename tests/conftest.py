"""What every test of this repository shares."""

from hypothesis import settings

# A busy machine is no fault of the code: how long an example takes is measured in benchmarks/.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
