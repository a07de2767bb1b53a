"""Programs that get better: examples, a metric, optimizers, and a loop that accepts only what wins.

Above evaluation, whose questions, statistics and figures it uses; beneath the command line.
"""
