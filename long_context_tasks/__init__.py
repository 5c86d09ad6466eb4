"""Long-context benchmarks for lm-evaluation-harness and OpenCompass.

Importing this package loads neither torch, transformers nor a host, and touches neither disk nor network.
"""

__version__ = "0.1.0"
