"""OpenCompass: its classes, configs and results."""
