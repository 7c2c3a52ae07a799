"""The experiment as a runnable script in PyTorch, Keras, optax or plain NumPy that prints the same trajectory."""

from core.export.scripts.plan import ScriptError as ScriptError
from core.export.scripts.write import FRAMEWORKS as FRAMEWORKS
from core.export.scripts.write import Script as Script
from core.export.scripts.write import experiment_script as experiment_script
from core.export.scripts.write import make_script as make_script
