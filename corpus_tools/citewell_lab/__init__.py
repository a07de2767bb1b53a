"""Evaluates, tunes and trains: data sets in, figures, programs and weights out."""
