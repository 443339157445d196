"""The record of each try: the configuration that it had, with references and their origins."""
