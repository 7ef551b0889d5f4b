"""The suite runs on the simulator: the flag must stand before anything imports numba."""

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
