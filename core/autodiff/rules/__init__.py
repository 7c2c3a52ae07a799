"""The vector-Jacobian rules, one table a family; core.autodiff.dispatch joins them to numpy's functions."""
