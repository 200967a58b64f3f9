"""The plugin: beside the assertion helpers, the only room that imports pytest."""
