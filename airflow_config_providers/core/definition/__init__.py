"""Definitions of configurations: types, validators, defaults, and a configuration that is parsed by them."""
