"""Put this folder on PYTHONPATH and `numba.cuda` is numba's own, as where numba-cuda has no build.

numba-cuda takes `numba.cuda` over by an import hook that a .pth file installs; Python runs this
module right after the .pth files.
"""

import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "NumbaCudaFinder"]
