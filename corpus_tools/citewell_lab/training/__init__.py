"""Commands that train what ships: the static encoder, the priors and the learned head.

Each is a module that anyone can rerun on the shared data folder; none is imported at run time.
"""
