"""The version of the package; `advcli.__version__` is this one."""

__version__ = "0.1.0"
